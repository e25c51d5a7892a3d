// Who is asking: a key in a Bearer or a Basic header becomes a Caller. Each part of the API knows one scheme.
// Compares SHA-256 hashes in constant time, and never says which part of the credentials was wrong. That who was let in
// may be turned out again is not known here.
import { timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import { endOf, hashSecret, type AccessKey, type Caller, type KeyStore } from "../../domain/access.ts";
import type { Clock } from "../../domain/clock.ts";
import { HttpRefusal } from "../errors.ts";

export type AuthenticationScheme = "Bearer" | "Basic";

const challenges: { readonly [Scheme in AuthenticationScheme]: string } = {
  Bearer: 'Bearer realm="hone"',
  Basic: 'Basic realm="hone", charset="UTF-8"',
};

const forms: { readonly [Scheme in AuthenticationScheme]: string } = {
  Bearer: "Authorization: Bearer <key>, or x-api-key: <key>",
  Basic: "Authorization: Basic base64(<username>:<key>)",
};

/** Everyone, where authentication is off. */
export function openCaller(entity: string): Caller {
  return { keyId: "none", entity, role: "admin", owner: entity, scopes: null, project: null };
}

/** What of the headers says who asks: beside the scheme's own a key by itself, as clients of Anthropic's API send it. */
export function sentCredentials(
  { authorization, "x-api-key": key }: IncomingHttpHeaders,
  scheme: AuthenticationScheme,
): string | undefined {
  return authorization ?? (scheme === "Bearer" && typeof key === "string" ? `Bearer ${key}` : undefined);
}

interface AuthenticationDependencies {
  readonly keys: Pick<KeyStore, "findByHash">;
  readonly clock: Clock;
  /** Called before a key that is not known is refused; may refuse it in other words. */
  readonly onUnknownKey: () => void;
}

/**
 * Finds the caller that the header names.
 *
 * @throws ServiceError `unauthorized`, with the challenge of the scheme that this part of the API wants
 */
export async function authenticate(
  { keys, clock, onUnknownKey }: AuthenticationDependencies,
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
  const isOwn = isSameHash(key?.secretHash, secretHash);
  const isFormer = isSameHash(key?.previous?.secretHash, secretHash);
  if (key === null || !(isOwn || isFormer) || key.revokedAt !== null) {
    onUnknownKey();
    throw refusal(scheme, "The key is not known");
  }
  // Whoever has the secret may know what became of it.
  const end = endOf(key, secretHash, clock.now());
  if (end !== null) throw refusal(scheme, endings[end](key));
  const { id: keyId, entity, role, owner, scopes, project } = key;
  return { keyId, entity, role, owner, scopes, project };
}

const endings = {
  expired: ({ expiresAt }: AccessKey) => `The key expired at ${expiresAt?.toISOString()}`,
  rotated: () => "The key has another secret since it was rotated, and this one holds no longer",
} as const;

/** Takes the same time whatever differs, and where nothing is stored. */
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
  const message = `${what}. Send ${forms[scheme]}, with a key of this server.`;
  return new HttpRefusal({
    status: 401,
    code: "unauthorized",
    faults: [{ location: ["header", "authorization"], message, type: "unauthorized" }],
    headers: { "www-authenticate": challenges[scheme] },
  });
}
