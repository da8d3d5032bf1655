# A thread asks every 20 ms whether its partner is done, who needs two; time.sleep is what the program does most.
# planted: class=polling-delay function=wait_until_done
import threading
import time

from planted import lost_since, write_truth

ROUNDS = 60
started = threading.Semaphore(0)
done = 0


def wait_until_done(round_number):
    while done < round_number:
        before_ns = time.monotonic_ns()
        time.sleep(0.02)  # <- cause
        lost_since(before_ns)


def run_partner():
    global done
    for _ in range(ROUNDS):
        started.acquire()
        sum(range(50000))
        done += 1


partner = threading.Thread(target=run_partner)
partner.start()
for each in range(1, ROUNDS + 1):
    started.release()
    wait_until_done(each)
partner.join()
write_truth()
