// Access: entities, their keys, and the contract of the store. Of a key only its SHA-256 is stored.

import { hash } from "node:crypto";
import { type KeyScope, keyScopes, type Owned } from "./keys/key-scope.ts";
import { type KeyLimits, limitFields, noLimits } from "./keys/limits.ts";
import type { Page, PageRequest } from "./page.ts";
import { type FieldValues, orNull, setOf, text, time } from "./resources/fields.ts";
import { ServiceError } from "./service-error.ts";

export type KeyRole = "member" | "admin";

/** A key as stored. The secret is shown once and never stored. */
export interface AccessKey extends KeyChoices {
  readonly id: string;
  readonly entity: string;
  readonly role: KeyRole;
  /** Name for people; feedback records carry it as the author. */
  readonly owner: string;
  /** Lower-case hex SHA-256 of the secret. */
  readonly secretHash: string;
  /** Secret before the latest rotation, valid until a time; null if there was none. */
  readonly previous: PreviousSecret | null;
  readonly createdAt: Date;
  /** Time of the last request with this key, to the minute; null if there was none. */
  readonly lastUsedAt: Date | null;
  readonly revokedAt: Date | null;
}

/** Maximum length of a key's name and of its owner's, in characters. */
export const keyTextMax = 128;

/** Fields of a key that may be changed. Its limits apply in addition to those of its entity. */
export const keyFields = {
  name: orNull(
    text({
      lengthMin: 1,
      lengthMax: keyTextMax,
      about: "Program that uses the key, for people.",
      aboutShown: "Program that uses the key.",
      example: "nightly evaluation",
      isStoredAsJson: true,
    }),
  ),
  expiresAt: orNull(
    time({
      about: "Time from which the key is refused and its running requests end. Null: never.",
      aboutShown: "Time from which the key is refused.",
    }),
  ),
  scopes: orNull(
    setOf(keyScopes, {
      countMax: 16,
      about:
        "Scopes of the key. `chat`: answers of models. `train`: models, jobs and training data. `feedback`: feedback, annotation and traces. Each includes reading what it concerns. `read`: reading everything, changing nothing. Null: everything its role allows.",
      aboutShown: "Scopes of the key; null if only its role limits it.",
    }),
  ),
  project: orNull(
    text({
      lengthMin: 1,
      lengthMax: keyTextMax,
      about:
        "The only project of its entity that the key can access, besides base models. Null: all. Not for admins.",
      aboutShown: "The only project that the key can access; null for all.",
    }),
  ),
  ...limitFields,
};
export type KeyChoices = FieldValues<typeof keyFields>;

/** Validity of the old secret after a rotation: long enough to update every program that uses it. */
export const graceSecondsDefault = 86_400;
export const graceSecondsMax = 90 * 86_400;

export interface PreviousSecret {
  readonly secretHash: string;
  readonly until: Date;
}

/** A key with the limits of its entity. */
export interface OpeningKey extends AccessKey {
  readonly entityLimits: KeyLimits;
}

/** Initial fields of a key without limits, usage or changes. */
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

/** Sender of a request, after authentication. */
export interface Caller {
  readonly keyId: string;
  readonly entity: string;
  readonly role: KeyRole;
  readonly owner: string;
  /** Scopes of its key. */
  readonly scopes: readonly KeyScope[] | null;
  readonly project: string | null;
}

/** True if the caller may use things of the entity, or of its project. */
export function mayReach(caller: Caller, { entity, project }: Owned): boolean {
  if (caller.role === "admin") return true;
  return caller.entity === entity && (caller.project === null || caller.project === project);
}

/** Returns the scope of lists for the caller; null for everything. */
export function reachOf({ role, entity, project }: Caller): Owned | null {
  return role === "admin" ? null : { entity, project };
}

/**
 * @param what names the thing in the message
 * @param field the domain's name of the field with the reference, if any
 * @throws ServiceError `forbidden` if the caller may not use things of this owner
 */
export function refuseOtherOwner(caller: Caller, owned: Owned, what: string, field?: string): void {
  if (mayReach(caller, owned)) return;
  const message = foreignMessage(caller, owned, what);
  const faults = field === undefined ? [] : [{ location: [field], message, type: "forbidden" }];
  throw new ServiceError({ code: "forbidden", message, faults });
}

/** Returns why the caller may not use things of this owner. @param what names the thing */
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
  /** Also finds revoked keys; null if there is none. */
  find(id: string): Promise<AccessKey | null>;
  /**
   * Finds the active key with this hash of its current or previous secret; null if there is none. {@link endOf} checks
   * its expiry.
   */
  findByHash(secretHash: string): Promise<OpeningKey | null>;
  /** Returns the ids whose keys are revoked or expired by then, in any order. */
  findEnded(ids: readonly string[], at: Date): Promise<readonly string[]>;
  /** Returns all keys unless filtered, in order of creation, including revoked ones. */
  list(page: PageRequest, filter?: KeyFilter): Promise<Page<AccessKey>>;
  /** Changes the named fields. Returns null if there is no such active key. */
  change(id: string, choices: Partial<KeyChoices>): Promise<AccessKey | null>;
  /**
   * Replaces the secret. The current one stays valid until `previousUntil`; the one before it ends now. Returns null
   * if there is no such active key.
   */
  rotate(id: string, secretHash: string, previousUntil: Date): Promise<AccessKey | null>;
  /** Returns false if there is no such active key. */
  revoke(id: string, at: Date): Promise<boolean>;
  /** Records requests with the keys; never moves the time back. */
  markUsed(ids: readonly string[], at: Date): Promise<void>;
}

/** Returns why a secret does not open the key found by its hash; null if it does. */
export function endOf(key: AccessKey, secretHash: string, now: Date): "expired" | "rotated" | null {
  if (key.expiresAt !== null && key.expiresAt <= now) return "expired";
  if (key.secretHash === secretHash) return null;
  return key.previous !== null && key.previous.until > now ? null : "rotated";
}

/** Hashes a secret for storage and comparison: SHA-256 in lower-case hex. */
export function hashSecret(secret: string): string {
  return hash("sha256", secret);
}
