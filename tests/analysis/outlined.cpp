// OpenMP regions whose names are looked up by outlined_regions_test, which compiles this file. Line numbers of it are
// in that test.

namespace grids {

struct Grid {
  double cells[100];
  void Step(int count) {
#pragma omp parallel for
    for (int i = 0; i < count; ++i) cells[i] += 1;  // line 10
  }
  static void Refine(int depth);
};

void Grid::Refine(int depth) {
#pragma omp parallel
  {
#pragma omp task
    asm volatile("" ::"r"(depth));  // line 19
  }
}

template <class T>
void Fill(T* cells, int count) {
#pragma omp parallel for
  for (int i = 0; i < count; ++i) cells[i] = T(i);  // line 26
}

}  // namespace grids

extern "C" void sweep(int count) {
  grids::Grid grid;
  int numbers[100];
  grid.Step(count);
  grids::Grid::Refine(count);
  grids::Fill(grid.cells, count);
  grids::Fill(numbers, count);
  auto add = [&](int k) {
#pragma omp parallel num_threads(k)
    asm volatile("" ::"r"(numbers[k]));  // line 40
  };
  add(count);
#pragma omp parallel
  asm volatile("" ::"r"(numbers[0]));  // line 44
}
