# One thread of Python computes, another one waits for a queue that stays empty until the end.
# planted: class=none
import queue
import threading
import time

orders = queue.Queue()
waiter = threading.Thread(target=orders.get)
waiter.start()
end = time.thread_time() + 1.2
while time.thread_time() < end:
    sum(range(1000))
orders.put(None)
waiter.join()
