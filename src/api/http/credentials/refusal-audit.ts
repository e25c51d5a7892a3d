// What the audit log says of requests that are refused for their credentials: the first of an address in a minute, a line
// each, and all others of the minute as one line with their count. Anybody can send them, and they must not push what
// keys did out of the log.
import type { Clock } from "../../../base/domain/clock.ts";
import type { AuditEntry, AuditLog } from "../../../base/telemetry/audit-log.ts";
import { networkOf } from "./failed-logins.ts";

const minuteMs = 60_000;
/** Lines of a minute, whatever addresses they are of. */
const linesMax = 1000;

export class RefusalAudit {
  readonly #audit: Pick<AuditLog, "record" | "recordDurably">;
  readonly #clock: Clock;
  readonly #linesPerAddress: number;
  /** By address, how many have a line in this minute. */
  readonly #lineCounts = new Map<string, number>();
  readonly #closing = new AbortController();
  #lineCount = 0;
  #minuteEndMs = 0;
  /** The last of those without a line, and how many there are. */
  #others: { readonly last: AuditEntry; readonly count: number } | null = null;

  constructor(audit: Pick<AuditLog, "record" | "recordDurably">, clock: Clock, linesPerAddress: number) {
    this.#audit = audit;
    this.#clock = clock;
    this.#linesPerAddress = linesPerAddress;
  }

  /**
   * Adds a line for a refusal, or counts it.
   *
   * @returns once the line is on the disk; at once if the refusal is only counted
   * @throws as `recordDurably` of the audit log
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

  /** Writes what was counted. */
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
    // Cut short, it is closed, and writes at once.
    this.#clock.sleep(leftMs, { signal: this.#closing.signal }).then(write, write);
  }

  #writeOthers(): void {
    if (this.#others === null) return;
    const { last, count } = this.#others;
    this.#others = null;
    this.#audit.record({ ...last, time: this.#clock.now(), action: "more-refused", count });
  }
}
