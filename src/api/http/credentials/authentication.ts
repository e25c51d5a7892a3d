// Authentication: finds the caller by the key in a Bearer or Basic header, or by the user whom the operator's proxy or
// issuer signs in. Ends running requests soon after their key is revoked or expires. Refusals never say which part of
// the credentials was wrong, and hashes of secrets are compared in constant time.
import { timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import {
  endOf,
  hashSecret,
  type AccessKey,
  type Caller,
  type KeyStore,
  type OpeningKey,
} from "../../../base/domain/access.ts";
import type { Clock } from "../../../base/domain/clock.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import type { SignedInUsers } from "../../../access/users/signed-in-users.ts";
import { TokenExpired } from "../../../access/users/user-errors.ts";
import { HttpRefusal } from "../errors.ts";
import type { Announcements } from "../../../base/domain/servers/pubsub.ts";
import { waitOver } from "../../../base/domain/waiting/wait-over.ts";
import { Notifier } from "../../../train/jobs/event-watch.ts";

export type AuthenticationScheme = "Bearer" | "Basic";

const challenges: { readonly [Scheme in AuthenticationScheme]: string } = {
  Bearer: 'Bearer realm="hone"',
  Basic: 'Basic realm="hone", charset="UTF-8"',
};

const forms: { readonly [Scheme in AuthenticationScheme]: string } = {
  Bearer: "Authorization: Bearer <key>, or x-api-key: <key>",
  Basic: "Authorization: Basic base64(<username>:<key>)",
};

/** Returns the caller to whom all requests belong while authentication is off. */
export function unauthenticatedCaller(entity: string): Caller {
  return { keyId: "none", entity, role: "admin", owner: entity, scopes: null, project: null };
}

/**
 * Returns the request's Authorization header. Clients of Anthropic's and Tinker's APIs send a bare key in `x-api-key`
 * instead, which counts as a Bearer header. Tinker's client accepts only keys that begin with `tml-`, so a key of this
 * server may have that prefix.
 */
export function sentCredentials(
  { authorization, "x-api-key": key }: IncomingHttpHeaders,
  scheme: AuthenticationScheme,
): string | undefined {
  return (
    authorization ??
    (scheme === "Bearer" && typeof key === "string"
      ? `Bearer ${key.replace(/^tml-(?=hone_)/, "")}`
      : undefined)
  );
}

/**
 * Returns the scheme of a request's credentials, for routes that accept both Basic and Bearer. For a request without
 * credentials, returns Basic, so that a browser prompts for a name and a key.
 */
export function sentScheme({ authorization, "x-api-key": key }: IncomingHttpHeaders): AuthenticationScheme {
  if (authorization === undefined) return key === undefined ? "Basic" : "Bearer";
  return /^\s*basic\b/i.test(authorization) ? "Basic" : "Bearer";
}

interface HeaderCredentials extends Pick<AuthenticationDependencies, "onUnknownKey"> {
  readonly headers: IncomingHttpHeaders;
  readonly address: string;
}

/**
 * Returns the user whose name or token the operator's proxy sends in a header; null if there is no such header. Throws
 * the same errors as {@link authenticate}.
 */
export function authenticateUser(
  users: Pick<SignedInUsers, "ofHeaders">,
  scheme: AuthenticationScheme,
  { headers, address, onUnknownKey }: HeaderCredentials,
): Promise<Caller | null> {
  return users.ofHeaders(headers, address).catch((error: unknown) => {
    if (isUnknownUser(error)) onUnknownKey();
    throw withChallenge(error, scheme);
  });
}

/**
 * An authenticated caller and the key whose limits apply. `key` is null for users who sign in without a key. For the
 * key of a rollout, it is the key that created the rollout.
 */
export interface AuthenticatedCaller {
  readonly caller: Caller;
  readonly key: AccessKey | OpeningKey | null;
}

interface AuthenticationDependencies {
  readonly keys: Pick<KeyStore, "findByHash">;
  readonly users: Pick<SignedInUsers, "ofToken">;
  readonly clock: Clock;
  /** Called before a request with an unknown key or an invalid token is refused. May throw another error instead. */
  readonly onUnknownKey: () => void;
}

/**
 * Returns the caller whom the header identifies by a key, or by a token of the operator's issuer.
 *
 * @throws ServiceError `unauthorized` with the challenge of the scheme that this part of the API accepts; errors of
 * `SignedInUsers.ofToken`
 */
export async function authenticate(
  { keys, users, clock, onUnknownKey }: AuthenticationDependencies,
  scheme: AuthenticationScheme,
  header: string | undefined,
): Promise<AuthenticatedCaller> {
  if (header === undefined) throw refusal(scheme, "There are no credentials");
  const [given = "", credentials = "", ...rest] = header.trim().split(/\s+/);
  // The message does not repeat the header's first word: if a client sends a key without a scheme, that word is the
  // key.
  if (given.toLowerCase() !== scheme.toLowerCase()) {
    throw refusal(scheme, `The credentials do not begin with the scheme ${scheme}, which is required here`);
  }
  if (rest.length > 0) throw refusal(scheme, "The credentials are followed by further text");
  const secret = scheme === "Bearer" ? credentials : passwordOf(credentials);
  const user = await users.ofToken(secret).catch((error: unknown) => {
    if (isUnknownUser(error)) onUnknownKey();
    throw withChallenge(error, scheme);
  });
  if (user !== null) return { caller: user, key: null };
  const secretHash = hashSecret(secret);
  const key = await keys.findByHash(secretHash);
  const isOwn = isSameHash(key?.secretHash, secretHash);
  const isFormer = isSameHash(key?.previous?.secretHash, secretHash);
  if (key === null || !(isOwn || isFormer) || key.revokedAt !== null) {
    onUnknownKey();
    throw refusal(scheme, "The key is unknown");
  }
  // The client knows the secret, so the refusal may say why the key is no longer valid.
  const end = endOf(key, secretHash, clock.now());
  if (end !== null) throw refusal(scheme, endings[end](key));
  const { id: keyId, entity, role, owner, scopes, project } = key;
  return { caller: { keyId, entity, role, owner, scopes, project }, key };
}

const endings = {
  expired: ({ expiresAt }: AccessKey) => `The key expired at ${expiresAt?.toISOString()}`,
  rotated: () => "The key was rotated, and this secret is no longer valid",
} as const;

/**
 * Compares hashes in constant time. Without a stored hash, compares with zeros, so that an unknown key takes as long as
 * a known one.
 */
function isSameHash(stored: string | undefined, given: string): boolean {
  const known = Buffer.from(stored ?? "00".repeat(32), "hex");
  const hash = Buffer.from(given, "hex");
  return known.length === hash.length && timingSafeEqual(known, hash);
}

function passwordOf(credentials: string): string {
  const decoded = Buffer.from(credentials, "base64").toString("utf8");
  const colon = decoded.indexOf(":");
  return colon === -1 ? "" : decoded.slice(colon + 1);
}

function refusal(scheme: AuthenticationScheme, what: string): HttpRefusal {
  return unauthorized(scheme, `${what}. Send ${forms[scheme]}, with a key of this server.`);
}

/**
 * True if the refused token counts as an attempt to guess a key. An expired token does not count, because it was once
 * valid.
 */
function isUnknownUser(error: unknown): boolean {
  return error instanceof ServiceError && error.code === "unauthorized" && !(error instanceof TokenExpired);
}

/** Adds the scheme's challenge to an `unauthorized` refusal of a signed-in user. Returns other errors unchanged. */
function withChallenge(error: unknown, scheme: AuthenticationScheme): unknown {
  return error instanceof ServiceError && error.code === "unauthorized"
    ? unauthorized(scheme, error.message)
    : error;
}

export function unauthorized(scheme: AuthenticationScheme, message: string): HttpRefusal {
  return new HttpRefusal({
    status: 401,
    code: "unauthorized",
    faults: [{ location: ["header", "authorization"], message, type: "unauthorized" }],
    headers: { "www-authenticate": challenges[scheme] },
  });
}

/**
 * Interval in milliseconds between checks for ended keys. If no announcement of a revocation arrives, an answer
 * continues for at most this time.
 */
const revocationCheckMs = 1000;

/**
 * Ends running requests whose key is revoked or expires. While requests run, a single periodic query checks the keys
 * of all of them.
 */
export class RevocationWatch {
  readonly #keys: Pick<KeyStore, "findEnded">;
  readonly #clock: Clock;
  readonly #running = new Set<{ readonly keyId: string; readonly end: (reason: ServiceError) => void }>();
  #asking: { readonly end: AbortController; readonly notifier: Notifier } | null = null;

  constructor(
    {
      keys,
      announcements,
    }: { readonly keys: Pick<KeyStore, "findEnded">; readonly announcements: Announcements },
    clock: Clock,
  ) {
    this.#keys = keys;
    this.#clock = clock;
    announcements.listen("key-changed", () => this.#asking?.notifier.notify());
  }

  /**
   * Watches the key of a running request.
   *
   * @param end called at most once, with `unauthorized`, when the key has ended
   * @returns the function to call when the request is over; idempotent
   */
  enter(keyId: string, end: (reason: ServiceError) => void): () => void {
    const entry = { keyId, end };
    this.#running.add(entry);
    if (this.#asking === null) {
      this.#asking = { end: new AbortController(), notifier: new Notifier(this.#clock) };
      void this.#ask(this.#asking.notifier, this.#asking.end.signal);
    }
    return () => {
      this.#running.delete(entry);
      if (this.#running.size > 0) return;
      this.#asking?.end.abort(waitOver);
      this.#asking = null;
    };
  }

  async #ask(notifier: Notifier, signal: AbortSignal): Promise<void> {
    for (;;) {
      await notifier.wait(revocationCheckMs, { signal });
      if (signal.aborted) return;
      try {
        const keyIds = new Set([...this.#running].map(({ keyId }) => keyId));
        const ended = await this.#keys.findEnded([...keyIds], this.#clock.now());
        for (const entry of this.#running) if (ended.includes(entry.keyId)) this.#end(entry);
      } catch {
        // Another part of the server reports that the database cannot be reached, so this loop only retries the query.
      }
    }
  }

  #end(entry: { readonly keyId: string; readonly end: (reason: ServiceError) => void }): void {
    this.#running.delete(entry);
    entry.end(
      new ServiceError({
        code: "unauthorized",
        message: "This key was revoked or has expired; its running requests have ended.",
      }),
    );
  }
}
