// Who may reach what: entities, their keys, and the store of both. A key is kept as its SHA-256 only.

import { hash } from "node:crypto";
import { type KeyScope, keyScopes, type Owned } from "./keys/key-scope.ts";
import { type KeyLimits, limitFields, noLimits } from "./keys/limits.ts";
import type { Page, PageRequest } from "./page.ts";
import { type FieldValues, orNull, setOf, text, time } from "./resources/fields.ts";
import { ServiceError } from "./service-error.ts";

export type KeyRole = "member" | "admin";

/** A key as it is stored; the secret itself is shown once and never kept. */
export interface AccessKey extends KeyChoices {
  readonly id: string;
  readonly entity: string;
  readonly role: KeyRole;
  /** A name for people; feedback records carry it as the author. */
  readonly owner: string;
  /** Lower-case hex SHA-256 of the secret. */
  readonly secretHash: string;
  /** The secret before the latest rotation, which holds until then; null where there was none. */
  readonly previous: PreviousSecret | null;
  readonly createdAt: Date;
  /** When a request last came with it, to the minute; null where none did. */
  readonly lastUsedAt: Date | null;
  readonly revokedAt: Date | null;
}

/** Characters of a key's name, and of its owner's. */
export const keyTextMax = 128;

/** What of a key may be changed; its limits are next to those that all keys of its entity have together. */
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

/** How long a secret holds after its key was given another one: long enough to change it in every program that has it. */
export const graceSecondsDefault = 86_400;
export const graceSecondsMax = 90 * 86_400;

export interface PreviousSecret {
  readonly secretHash: string;
  readonly until: Date;
}

/** A key that opens, with what limits its entity has of its own. */
export interface OpeningKey extends AccessKey {
  readonly entityLimits: KeyLimits;
}

/** What a key has that nobody has limited, used or changed yet. */
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

/** The sender of a request, after authentication. */
export interface Caller {
  readonly keyId: string;
  readonly entity: string;
  readonly role: KeyRole;
  readonly owner: string;
  /** As of its key. */
  readonly scopes: readonly KeyScope[] | null;
  readonly project: string | null;
}

/** True when the caller may use what belongs to the entity, or to the project of it. */
export function mayReach(caller: Caller, { entity, project }: Owned): boolean {
  if (caller.role === "admin") return true;
  return caller.entity === entity && (caller.project === null || caller.project === project);
}

/** What lists show the caller; null for everything. */
export function reachOf({ role, entity, project }: Caller): Owned | null {
  return role === "admin" ? null : { entity, project };
}

/**
 * @param what names the thing in the message
 * @param field the domain's name of the field that named it, where one did
 * @throws ServiceError `forbidden` when what is owned so is not the caller's
 */
export function refuseOtherOwner(caller: Caller, owned: Owned, what: string, field?: string): void {
  if (mayReach(caller, owned)) return;
  const message = foreignMessage(caller, owned, what);
  const faults = field === undefined ? [] : [{ location: [field], message, type: "forbidden" }];
  throw new ServiceError({ code: "forbidden", message, faults });
}

/** Why the caller cannot have what is owned so. @param what names it */
export function foreignMessage(caller: Caller, { entity }: Owned, what: string): string {
  return caller.entity === entity && caller.project !== null
    ? `${what} is outside the project ${JSON.stringify(caller.project)}, the only one that your key reaches.`
    : `${what} belongs to another entity than your key.`;
}

export interface KeyFilter {
  readonly entity?: string | null;
}

export interface KeyStore {
  /** @throws ServiceError `conflict` when there is or was a key with this id or this secret */
  create(key: AccessKey): Promise<void>;
  /** Whether it is revoked or not; null when there is none. */
  find(id: string): Promise<AccessKey | null>;
  /**
   * The key that is not revoked with this hash, of its secret or of the one before that; null when there is none.
   * {@link endOf} says whether its time is over.
   */
  findByHash(secretHash: string): Promise<OpeningKey | null>;
  /** Those of the ids whose keys are revoked, or have expired by then, in any order. */
  findEnded(ids: readonly string[], at: Date): Promise<readonly string[]>;
  /** Of everybody unless filtered, in the order they came, revoked ones included. */
  list(page: PageRequest, filter?: KeyFilter): Promise<Page<AccessKey>>;
  /** What is named changes. Null when there is no such live key. */
  change(id: string, choices: Partial<KeyChoices>): Promise<AccessKey | null>;
  /**
   * Gives it another secret; the present one holds until `previousUntil`, and the one before that no longer. Null when
   * there is no such live key.
   */
  rotate(id: string, secretHash: string, previousUntil: Date): Promise<AccessKey | null>;
  /** Returns false when there is no such live key. */
  revoke(id: string, at: Date): Promise<boolean>;
  /** That requests came with the keys; a later time stays. */
  markUsed(ids: readonly string[], at: Date): Promise<void>;
}

/** Why a secret does not open the key that was found by its hash: null where it does. */
export function endOf(key: AccessKey, secretHash: string, now: Date): "expired" | "rotated" | null {
  if (key.expiresAt !== null && key.expiresAt <= now) return "expired";
  if (key.secretHash === secretHash) return null;
  return key.previous !== null && key.previous.until > now ? null : "rotated";
}

/** What is kept of a key's secret, and what a presented one is compared by: its SHA-256 in lower-case hex. */
export function hashSecret(secret: string): string {
  return hash("sha256", secret);
}
