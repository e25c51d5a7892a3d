// Links with which programs download saved weights without credentials: clients of the Tinker API give them to programs
// that cannot send a key. A link is a secret, names one version, and works for an hour.
import type { Caller } from "../../../base/domain/access.ts";
import type { Clock } from "../../../base/domain/clock.ts";
import { secureBytes } from "../../../base/domain/random.ts";

/** Weights that a link gives access to, and the caller who may read them. */
export interface LinkedWeights {
  readonly caller: Caller;
  /** Path of the weights, such as `tinker://<run>/external_weights/<name>`. */
  readonly path: string;
  readonly expiresAt: Date;
}

/** Life of a link in milliseconds. Clients ask for new links when less than five minutes are left. */
const lifeMs = 3_600_000;
/** Maximum number of an entity's links. Beyond it, the oldest stop working. */
const linksPerEntityMax = 64;

export class DownloadLinks {
  readonly #clock: Clock;
  /** Links by their secret, the oldest first. */
  readonly #links = new Map<string, LinkedWeights>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Adds a link. Returns its secret. */
  add(caller: Caller, path: string): LinkedWeights & { readonly secret: string } {
    const now = this.#clock.now();
    for (const [secret, { expiresAt }] of this.#links) if (expiresAt <= now) this.#links.delete(secret);
    const own = [...this.#links].filter(([, link]) => link.caller.entity === caller.entity);
    if (own.length >= linksPerEntityMax) this.#links.delete(own[0][0]);
    const secret = Buffer.from(secureBytes(32)).toString("base64url");
    const link = { caller, path, expiresAt: new Date(now.getTime() + lifeMs) };
    this.#links.set(secret, link);
    return { ...link, secret };
  }

  /** Returns the weights of a link; null if there is no such link, or it has expired. */
  find(secret: string): LinkedWeights | null {
    const link = this.#links.get(secret);
    return link === undefined || link.expiresAt <= this.#clock.now() ? null : link;
  }
}
