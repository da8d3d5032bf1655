# A pool of two processes is made long before its only task comes.
# planted: class=none
import multiprocessing
import time

if __name__ == "__main__":
    with multiprocessing.get_context("fork").Pool(2) as pool:
        time.sleep(1.2)
        pool.apply(sum, [range(10000)])
