# A pool of two processes gets two chunks of rows of which one has the long rows.
# planted: class=tail-imbalance function=solve_row|solve_rows processes=3
import multiprocessing
import time

from planted import lost, write_truth


def solve_row(milliseconds):
    # <- cause: begin
    end = time.thread_time_ns() + milliseconds * 1000000
    total = 0
    while time.thread_time_ns() < end:
        for i in range(2000):
            total += i * i
    return total
    # <- cause: end


def solve_rows(rows):
    for milliseconds in rows:
        solve_row(milliseconds)
    return time.monotonic_ns()


if __name__ == "__main__":
    chunks = [[10] * 40, [10] * 120]
    with multiprocessing.get_context("fork").Pool(2) as pool:
        ends = sorted(pool.map(solve_rows, chunks, chunksize=1))
    lost(ends[1] - ends[0])
    write_truth()
