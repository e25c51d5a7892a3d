// Limits the audit lines for requests that are refused because of their credentials. The first refusals of an address
// in a minute get one line each; all further ones share a line, which states their number. Anyone can cause such
// refusals, so their lines must not displace the lines of actions with valid keys.
import type { Clock } from "../../../base/domain/clock.ts";
import type { AuditEntry, AuditLog } from "../../../base/telemetry/audit-log.ts";
import { networkOf } from "./failed-logins.ts";

const minuteMs = 60_000;
/** Maximum number of lines per minute for all addresses together. */
const linesMax = 1000;

export class RefusalAudit {
  readonly #audit: Pick<AuditLog, "record" | "recordDurably">;
  readonly #clock: Clock;
  readonly #linesPerAddress: number;
  /** Number of lines written in this minute, by address. */
  readonly #lineCounts = new Map<string, number>();
  readonly #closing = new AbortController();
  #lineCount = 0;
  #minuteEndMs = 0;
  /**
   * Last refusal without a line of its own, and the number of such refusals; null if every refusal has its own line.
   */
  #others: { readonly last: AuditEntry; readonly count: number } | null = null;

  constructor(audit: Pick<AuditLog, "record" | "recordDurably">, clock: Clock, linesPerAddress: number) {
    this.#audit = audit;
    this.#clock = clock;
    this.#linesPerAddress = linesPerAddress;
  }

  /**
   * Writes a line for a refusal, or only counts it. Resolves when the line is on disk; immediately if the refusal is
   * only counted.
   *
   * @throws errors of the audit log's `recordDurably`
   */
  async record(entry: AuditEntry): Promise<void> {
    if (this.#clock.monotonicMs() >= this.#minuteEndMs) this.#beginMinute();
    const network = networkOf(entry.address ?? "");
    const count = this.#lineCounts.get(network) ?? 0;
    if (count < this.#linesPerAddress && this.#lineCount < linesMax) {
      this.#lineCounts.set(network, count + 1);
      this.#lineCount += 1;
      await this.#audit.recordDurably(entry);
      return;
    }
    if (this.#others === null) this.#countUntilMinuteEnds();
    this.#others = { last: entry, count: (this.#others?.count ?? 0) + 1 };
  }

  /** Writes the line for the refusals counted so far. */
  close(): void {
    this.#closing.abort();
  }

  #beginMinute(): void {
    this.#minuteEndMs = this.#clock.monotonicMs() + minuteMs;
    this.#lineCounts.clear();
    this.#lineCount = 0;
  }

  #countUntilMinuteEnds(): void {
    const leftMs = this.#minuteEndMs - this.#clock.monotonicMs();
    const write = (): void => this.#writeOthers();
    // `close` aborts the sleep, so that the line is then written immediately.
    this.#clock.sleep(leftMs, { signal: this.#closing.signal }).then(write, write);
  }

  #writeOthers(): void {
    if (this.#others === null) return;
    const { last, count } = this.#others;
    this.#others = null;
    this.#audit.record({ ...last, time: this.#clock.now(), action: "more-refused", count });
  }
}
