// Access control: entities, their API keys, and the contract of the store for keys. The store has only the SHA-256 of
// each secret.

import { hash } from "node:crypto";
import { type KeyScope, keyScopes, type Owned } from "./keys/key-scope.ts";
import { type KeyLimits, limitFields, noLimits } from "./keys/limits.ts";
import type { Page, PageRequest } from "./page.ts";
import { type FieldValues, orNull, setOf, text, time } from "./resources/fields.ts";
import type { RolloutPass } from "./rollouts/rollout.ts";
import { ServiceError } from "./service-error.ts";

export type KeyRole = "member" | "admin";

/** A key as it is stored. It does not contain the secret, which is shown only once. */
export interface AccessKey extends KeyChoices {
  readonly id: string;
  readonly entity: string;
  readonly role: KeyRole;
  /**
   * Name of the key's owner, such as a person's name. It becomes the author of the feedback records that are written
   * with the key.
   */
  readonly owner: string;
  /** SHA-256 of the secret in lower-case hexadecimal. */
  readonly secretHash: string;
  /** Hash of the secret that the key had before its last rotation, with that secret's expiry; null if never rotated. */
  readonly previous: PreviousSecret | null;
  readonly createdAt: Date;
  /** Time of the last request with this key, with a precision of one minute; null if never used. */
  readonly lastUsedAt: Date | null;
  readonly revokedAt: Date | null;
}

/** Maximum length in characters of a key's name and of its owner's name. */
export const keyTextMax = 128;

/**
 * Fields of a key that may be changed. A request must stay within both the key's limits and the limits of the key's
 * entity.
 */
export const keyFields = {
  name: orNull(
    text({
      lengthMin: 1,
      lengthMax: keyTextMax,
      about: "Name of the key, such as that of the program that uses it.",
      aboutShown: "Name of the key, such as that of the program that uses it.",
      example: "nightly evaluation",
      isStoredAsJson: true,
    }),
  ),
  expiresAt: orNull(
    time({
      about:
        "Time at which the key expires: from then on, the server refuses the key, and ends its running requests. Null: the key does not expire.",
      aboutShown: "Time at which the key expires; null if it does not expire.",
    }),
  ),
  scopes: orNull(
    setOf(keyScopes, {
      countMax: 16,
      about:
        "Scopes: groups of actions that the key may perform. `chat` allows getting answers of models, `train` reading and changing models, jobs and training data, `feedback` reading and changing feedback, annotation queues and traces. With `read`, the key can read all these data, but neither change them nor get answers. Null: all actions that the key's role allows.",
      aboutShown: "Scopes of the key; null if the key may do everything that its role allows.",
    }),
  ),
  project: orNull(
    text({
      lengthMin: 1,
      lengthMax: keyTextMax,
      about:
        "The only project of the entity that the key can access, besides base models. Null: all projects. Not allowed for admin keys.",
      aboutShown: "Only project that the key can access; null for all projects of its entity.",
    }),
  ),
  ...limitFields,
};
export type KeyChoices = FieldValues<typeof keyFields>;

/**
 * Default time in seconds that the old secret stays valid after a rotation. It is long enough to update every
 * program that uses the secret.
 */
export const graceSecondsDefault = 86_400;
export const graceSecondsMax = 90 * 86_400;

export interface PreviousSecret {
  readonly secretHash: string;
  readonly until: Date;
}

/** A key together with the limits of its entity. */
export interface OpeningKey extends AccessKey {
  readonly entityLimits: KeyLimits;
}

/** Initial values of a new key's fields: it has no limits, and was never used, rotated or revoked. */
export const freshKey = {
  name: null,
  expiresAt: null,
  scopes: null,
  project: null,
  ...noLimits,
  previous: null,
  lastUsedAt: null,
  revokedAt: null,
} as const satisfies Partial<AccessKey>;

/** Sender of an authenticated request. */
export interface Caller {
  readonly keyId: string;
  readonly entity: string;
  readonly role: KeyRole;
  readonly owner: string;
  /** Scopes of the caller's key, which restrict what the caller may do; null if the key is not restricted. */
  readonly scopes: readonly KeyScope[] | null;
  readonly project: string | null;
  /** Rollout to which the caller's model calls belong; absent or null if they belong to none. */
  readonly rollout?: RolloutPass | null;
}

/** True if the caller may access data of this owner, which is an entity or one of the entity's projects. */
export function mayReach(caller: Caller, { entity, project }: Owned): boolean {
  if (caller.role === "admin") return true;
  return caller.entity === entity && (caller.project === null || caller.project === project);
}

/** Returns the owner to whose data the caller's lists are limited; null if they contain the data of all owners. */
export function reachOf({ role, entity, project }: Caller): Owned | null {
  return role === "admin" ? null : { entity, project };
}

/**
 * Refuses access to data of an owner that the caller may not access.
 *
 * @param what name of the data for the message
 * @param field the domain's name of the field that refers to the data, if any
 * @throws ServiceError `forbidden` if the caller may not access this owner's data
 */
export function refuseOtherOwner(caller: Caller, owned: Owned, what: string, field?: string): void {
  if (mayReach(caller, owned)) return;
  const message = foreignMessage(caller, owned, what);
  const faults = field === undefined ? [] : [{ location: [field], message, type: "forbidden" }];
  throw new ServiceError({ code: "forbidden", message, faults });
}

/**
 * Returns the error message for a caller that may not access this owner's data.
 *
 * @param what name of the data
 */
export function foreignMessage(caller: Caller, { entity }: Owned, what: string): string {
  return caller.entity === entity && caller.project !== null
    ? `${what} is outside the project ${JSON.stringify(caller.project)}, the only one that your key reaches.`
    : `${what} belongs to another entity than your key.`;
}

export interface KeyFilter {
  readonly entity?: string | null;
}

export interface KeyStore {
  /** @throws ServiceError `conflict` if a key with this id or secret exists or existed */
  create(key: AccessKey): Promise<void>;
  /** Finds a key by its id, even if it is revoked; null if there is none. */
  find(id: string): Promise<AccessKey | null>;
  /**
   * Finds the active key whose current or previous secret has this hash; null if there is none. {@link endOf} says
   * whether that secret has expired.
   */
  findByHash(secretHash: string): Promise<OpeningKey | null>;
  /** Returns the ids of keys that are revoked or have expired at the given time, in any order. */
  findEnded(ids: readonly string[], at: Date): Promise<readonly string[]>;
  /** Returns the keys that match the filter (by default all, including revoked keys), in order of creation. */
  list(page: PageRequest, filter?: KeyFilter): Promise<Page<AccessKey>>;
  /** Changes the given fields. Returns null if there is no such active key. */
  change(id: string, choices: Partial<KeyChoices>): Promise<AccessKey | null>;
  /**
   * Replaces the secret. The current secret stays valid until `previousUntil`; any older secret becomes invalid now.
   * Returns null if there is no such active key.
   */
  rotate(id: string, secretHash: string, previousUntil: Date): Promise<AccessKey | null>;
  /** Revokes a key. Returns false if there is no such active key. */
  revoke(id: string, at: Date): Promise<boolean>;
  /** Records when keys were last used. An earlier time never replaces a later one. */
  markUsed(ids: readonly string[], at: Date): Promise<void>;
}

/** Returns the reason why the secret with this hash is no longer valid for the key; null if it is valid. */
export function endOf(key: AccessKey, secretHash: string, now: Date): "expired" | "rotated" | null {
  if (key.expiresAt !== null && key.expiresAt <= now) return "expired";
  if (key.secretHash === secretHash) return null;
  return key.previous !== null && key.previous.until > now ? null : "rotated";
}

/** Returns the hash under which a secret is stored and compared: SHA-256 in lower-case hexadecimal. */
export function hashSecret(secret: string): string {
  return hash("sha256", secret);
}
