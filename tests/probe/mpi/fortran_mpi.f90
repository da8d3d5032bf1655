program fortran_mpi
  use mpi
  implicit none
  double precision :: from(10) = 0, to(10)
  integer :: i, rank, total, error, status(MPI_STATUS_SIZE), requests(2)
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  include 'fortran_body.inc'
end program
