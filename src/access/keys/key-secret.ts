// Generates API keys: the secret (`hone_` and 32 random bytes in base 62) and the database record. The caller stores
// the record.
import { freshKey, hashSecret, type AccessKey, type KeyChoices } from "../../base/domain/access.ts";
import type { Clock } from "../../base/domain/clock.ts";
import { newUuid, secureBytes } from "../../base/domain/random.ts";
import { ServiceError } from "../../base/domain/service-error.ts";
import { isPlainPart } from "../../inference/models/registry/model-name.ts";

const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/** Number of base-62 digits for 32 bytes, since 62^43 > 2^256. */
const digitCount = 43;

/**
 * Prefix of the ids of keys that a server creates when it starts. Such a key is revoked at a later start with a
 * different `HONE_API_KEY`.
 */
const startKeyPrefix = "first-";

export function newStartKeyId(): string {
  return `${startKeyPrefix}${newUuid()}`;
}

export function isOfStart(keyId: string): boolean {
  return keyId.startsWith(startKeyPrefix);
}

/** Returns a new secret: `hone_` and the base-62 digits of 32 random bytes. */
export function newSecret(): string {
  let number = BigInt(`0x${Buffer.from(secureBytes(32)).toString("hex")}`);
  let digits = "";
  for (let digit = 0; digit < digitCount; digit++) {
    digits = (alphabet[Number(number % 62n)] ?? "") + digits;
    number /= 62n;
  }
  return `hone_${digits}`;
}

/** Beginning of the secrets of rollouts. Keys do not begin like this, because base 62 has no `_`. */
const rolloutPrefix = "hone_rollout_";

/** Returns a new secret for the calls of one rollout. */
export function newRolloutSecret(): string {
  return newSecret().replace(/^hone_/, rolloutPrefix);
}

export function isRolloutSecret(secret: string): boolean {
  return secret.startsWith(rolloutPrefix);
}

/**
 * Returns the record of a new key with this secret. Its creation time is the current time.
 *
 * @throws ServiceError `invalid` if the entity cannot be part of a model's name
 */
export function keyOf(
  secret: string,
  about: Pick<AccessKey, "id" | "entity" | "role" | "owner"> & Partial<KeyChoices>,
  clock: Clock,
): AccessKey {
  requireValidEntity(about.entity);
  return { ...freshKey, ...about, secretHash: hashSecret(secret), createdAt: clock.now() };
}

/** @throws ServiceError `invalid` if the entity cannot be part of a model's name */
export function requireValidEntity(entity: string): void {
  if (isPlainPart(entity)) return;
  const message = `The entity is ${JSON.stringify(entity)}; it is part of model names and addresses, so it must not be empty or dots alone, or contain blanks, "/", ":", control characters or what is percent-encoded, such as "%2f".`;
  const faults = [{ location: ["entity"], message, type: "value_error" }];
  throw new ServiceError({ code: "invalid", message, faults });
}
