# A ThreadPoolExecutor is given texts to parse, which is computing in Python: more threads do not help.
# planted: class=interpreter-lock function=parse_text tolerance=none
from concurrent.futures import ThreadPoolExecutor

from planted import write_truth


def parse_text(text):
    # <- cause: begin
    counts = {}
    for _ in range(60):
        for word in text.split():
            letters = sorted(word)
            counts["".join(letters)] = counts.get(word, 0) + len(letters)
    return len(counts)
    # <- cause: end


def parse_all(texts):
    with ThreadPoolExecutor(max_workers=3) as pool:
        return sum(pool.map(parse_text, texts))


parse_all([" ".join(f"word{i * 7919 % 1000}" for i in range(1000)) for _ in range(24)])
write_truth()
