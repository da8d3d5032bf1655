program fortran_f08
  use mpi_f08
  implicit none
  double precision :: from(10) = 0, to(10)
  integer :: i, rank, total, error
  type(MPI_Status) :: status
  type(MPI_Request) :: requests(2)
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  include 'fortran_body.inc'
end program
