# Threads of Python wait for their own devices, all at the same time.
# planted: class=none
import threading
import time


def wait_for_device():
    for _ in range(12):
        time.sleep(0.1)


threads = [threading.Thread(target=wait_for_device) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
