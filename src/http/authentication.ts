// Who is asking: a key in a Bearer or a Basic header becomes a Caller. Each part of the API knows one scheme.
// Compares SHA-256 hashes in constant time, and never says which part of the credentials was wrong. Who was let in is
// turned out when the key is revoked.
import { timingSafeEqual } from "node:crypto";
import { hashSecret, type Caller, type KeyStore } from "../domain/access.ts";
import type { Clock } from "../domain/clock.ts";
import { ServiceError } from "../domain/service-error.ts";
import { HttpRefusal } from "./errors.ts";

export type AuthenticationScheme = "Bearer" | "Basic";

const challenges: { readonly [Scheme in AuthenticationScheme]: string } = {
  Bearer: 'Bearer realm="hone"',
  Basic: 'Basic realm="hone", charset="UTF-8"',
};

const forms: { readonly [Scheme in AuthenticationScheme]: string } = {
  Bearer: "Authorization: Bearer <key>",
  Basic: "Authorization: Basic base64(<username>:<key>)",
};

/** Everyone, where authentication is off. */
export function openCaller(entity: string): Caller {
  return { keyId: "none", entity, role: "admin", owner: entity };
}

/**
 * Finds whoever the header names.
 *
 * @throws ServiceError `unauthorized`, with the challenge of the scheme that this part of the API wants
 */
export async function authenticate(
  keys: KeyStore,
  scheme: AuthenticationScheme,
  header: string | undefined,
): Promise<Caller> {
  if (header === undefined) throw refusal(scheme, "There are no credentials");
  const [given = "", credentials = "", ...rest] = header.trim().split(/\s+/);
  // What was sent is never repeated: a key without its scheme stands in the scheme's place.
  if (given.toLowerCase() !== scheme.toLowerCase()) {
    throw refusal(scheme, `The credentials do not begin with the scheme ${scheme}, the one wanted here`);
  }
  if (rest.length > 0) throw refusal(scheme, "There is something after the credentials");
  const secret = scheme === "Bearer" ? credentials : passwordOf(credentials);
  const secretHash = hashSecret(secret);
  const key = await keys.findByHash(secretHash);
  const hash = Buffer.from(secretHash, "hex");
  const stored = Buffer.from(key?.secretHash ?? "00".repeat(32), "hex");
  const isSame = stored.length === hash.length && timingSafeEqual(stored, hash);
  if (key === null || !isSame || key.revokedAt !== null) throw refusal(scheme, "The key is not known");
  return { keyId: key.id, entity: key.entity, role: key.role, owner: key.owner };
}

function passwordOf(credentials: string): string {
  const decoded = Buffer.from(credentials, "base64").toString("utf8");
  const colon = decoded.indexOf(":");
  return colon === -1 ? "" : decoded.slice(colon + 1);
}

function refusal(scheme: AuthenticationScheme, what: string): HttpRefusal {
  const message = `${what}. Send ${forms[scheme]}, with a key of this server.`;
  return new HttpRefusal({
    status: 401,
    code: "unauthorized",
    faults: [{ location: ["header", "authorization"], message, type: "unauthorized" }],
    headers: { "www-authenticate": challenges[scheme] },
  });
}

/** How long an answer that runs may outlive its key. */
const revocationCheckMs = 1000;

/** Ends what runs for a key that is revoked meanwhile: while anything runs, one query asks for all keys at once. */
export class RevocationWatch {
  readonly #keys: Pick<KeyStore, "findRevoked">;
  readonly #clock: Clock;
  readonly #running = new Set<{ readonly keyId: string; readonly end: (reason: ServiceError) => void }>();
  #asking: AbortController | null = null;

  constructor(keys: Pick<KeyStore, "findRevoked">, clock: Clock) {
    this.#keys = keys;
    this.#clock = clock;
  }

  /**
   * @param end called at most once, with `unauthorized`
   * @returns what says that nothing runs any more; calling it twice is harmless
   */
  enter(keyId: string, end: (reason: ServiceError) => void): () => void {
    const entry = { keyId, end };
    this.#running.add(entry);
    if (this.#asking === null) {
      this.#asking = new AbortController();
      void this.#ask(this.#asking.signal);
    }
    return () => {
      this.#running.delete(entry);
      if (this.#running.size > 0) return;
      this.#asking?.abort();
      this.#asking = null;
    };
  }

  async #ask(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        await this.#clock.sleep(revocationCheckMs, { signal });
        const keyIds = new Set([...this.#running].map(({ keyId }) => keyId));
        const revoked = await this.#keys.findRevoked([...keyIds]);
        for (const entry of this.#running) if (revoked.includes(entry.keyId)) this.#end(entry);
      } catch {
        // The last one left, or the database is away: that is seen elsewhere, and asked again here.
      }
    }
  }

  #end(entry: { readonly keyId: string; readonly end: (reason: ServiceError) => void }): void {
    this.#running.delete(entry);
    entry.end(new ServiceError({ code: "unauthorized", message: "The key was revoked." }));
  }
}
