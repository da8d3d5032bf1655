# An asyncio program sleeps in three tasks.
# planted: class=none
import asyncio


async def tick(interval):
    for _ in range(int(1.2 / interval)):
        await asyncio.sleep(interval)


async def run():
    await asyncio.gather(tick(0.1), tick(0.2), tick(0.3))


asyncio.run(run())
