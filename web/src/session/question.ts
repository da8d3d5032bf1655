// A question that the server answers when it can. It is asked anew when no answer comes; the time until then doubles, since only the
// answer to the newest one is taken: a server that always needs longer than the limit would never be heard.

export class Question {
  private askedAt: number | null = null;
  private limitMs: number;

  constructor(private readonly firstLimitMs: number) {
    this.limitMs = firstLimitMs;
  }

  get inFlight(): boolean {
    return this.askedAt !== null;
  }

  /** Whether there still may be an answer. @param now in ms */
  isAwaited(now: number): boolean {
    return this.askedAt !== null && now - this.askedAt < this.limitMs;
  }

  ask(now: number): void {
    if (this.askedAt !== null) this.limitMs *= 2;
    this.askedAt = now;
  }

  /** Answered, or never to be: on another connection. */
  end(): void {
    this.askedAt = null;
    this.limitMs = this.firstLimitMs;
  }
}
