// Counts unknown keys and invalid tokens by client address. Beyond a limit, further failures of an address get 429, so
// that a program that guesses keys cannot fill the audit log. Known keys are never counted or slowed, so a client
// cannot lock out others at its address.
import { isIPv6 } from "node:net";
import type { Clock } from "../../../base/domain/clock.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import type { AuditLog } from "../../../base/telemetry/audit-log.ts";
import type { Metrics } from "../../../base/telemetry/metrics.ts";

export interface FailedLoginDependencies {
  readonly clock: Clock;
  readonly audit: Pick<AuditLog, "record">;
  readonly metrics: Metrics;
}

/** A request with an unknown key or an invalid token. */
export interface FailedLogin {
  readonly address: string;
  readonly requestId: string;
}

const windowMs = 60_000;
/**
 * Maximum number of addresses counted at the same time. If there are more, the address whose minute began first is
 * dropped.
 */
const addressCountMax = 10_000;

interface Minute {
  readonly startMs: number;
  failureCount: number;
}

export class FailedLogins {
  readonly #max: number;
  readonly #dependencies: FailedLoginDependencies;
  readonly #failures: ReturnType<Metrics["counter"]>;
  /** Current minute of each address, in the order in which the minutes began. */
  readonly #minutes = new Map<string, Minute>();

  /** @param max failures per address and minute that get 401; further failures get 429 */
  constructor(dependencies: FailedLoginDependencies, max: number) {
    this.#max = max;
    this.#dependencies = dependencies;
    this.#failures = dependencies.metrics.counter({
      name: "hone_http_failed_logins_total",
      help: "Requests with an unknown key or an invalid token, by their answer: refused (401), or slowed (429) after too many from one address.",
      labels: ["answer"],
    });
  }

  /**
   * Counts a failed login of an address.
   *
   * @throws ServiceError `overloaded` if the address has exceeded its limit for the current minute
   */
  count({ address, requestId }: FailedLogin): void {
    const { clock, audit } = this.#dependencies;
    const nowMs = clock.monotonicMs();
    const minute = this.#minuteOf(networkOf(address), nowMs);
    minute.failureCount += 1;
    if (minute.failureCount <= this.#max) return this.#failures.increase({ answer: "refused" });
    this.#failures.increase({ answer: "slowed" });
    // The audit log gets at most one line of this kind per address and minute, so that these lines do not displace
    // others.
    if (minute.failureCount === this.#max + 1) {
      const action = "failed-logins-slowed";
      audit.record({
        time: clock.now(),
        keyId: null,
        entity: null,
        address,
        action,
        outcome: "429",
        requestId,
      });
    }
    throw this.#refusal(Math.ceil((minute.startMs + windowMs - nowMs) / 1000));
  }

  get addressCount(): number {
    return this.#minutes.size;
  }

  #minuteOf(network: string, nowMs: number): Minute {
    const known = this.#minutes.get(network);
    if (known !== undefined && nowMs - known.startMs < windowMs) return known;
    const fresh = { startMs: nowMs, failureCount: 0 };
    this.#minutes.delete(network);
    this.#minutes.set(network, fresh);
    for (const oldest of this.#minutes.keys()) {
      if (this.#minutes.size <= addressCountMax) break;
      this.#minutes.delete(oldest);
    }
    return fresh;
  }

  #refusal(retryAfterSeconds: number): ServiceError {
    const message = `More than ${this.#max} unknown keys or invalid tokens came from this address within a minute, and this is another. Try again in ${retryAfterSeconds} s; a known key or a valid token is accepted immediately.`;
    const faults = [{ location: ["header", "authorization"], message, type: "overloaded" }];
    return new ServiceError({ code: "overloaded", message, faults, retryAfterSeconds });
  }
}

/**
 * Returns the network to which an address belongs: the IPv4 address itself, in any notation, or the 64-bit prefix of an
 * IPv6 address.
 */
export function networkOf(address: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address);
  if (mapped !== null) return mapped[1];
  if (!isIPv6(address)) return address;
  const [head, tail] = address.split("::", 2).map((part) => part.split(":").filter((group) => group !== ""));
  const zeros = Array.from({ length: 8 - head.length - (tail?.length ?? 0) }, () => "0");
  return [...head, ...zeros, ...(tail ?? [])].slice(0, 4).join(":");
}
