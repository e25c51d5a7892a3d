// What a key is made of: a secret, `hone_` and 32 random bytes in base 62, and what is stored of it. Stores nothing.
import { freshKey, hashSecret, type AccessKey, type KeyChoices } from "../../base/domain/access.ts";
import type { Clock } from "../../base/domain/clock.ts";
import { newUuid, secureBytes } from "../../base/domain/random.ts";
import { ServiceError } from "../../base/domain/service-error.ts";
import { isPlainPart } from "../../inference/models/registry/model-name.ts";

const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/** 62^43 > 2^256: as many digits as hold 32 bytes. */
const digitCount = 43;

/** Ids of keys that a start made begin so: such a key is revoked when `HONE_API_KEY` sets another. */
const startKeyPrefix = "first-";

/** An id for a key that a start makes. */
export function newStartKeyId(): string {
  return `${startKeyPrefix}${newUuid()}`;
}

export function isOfStart(keyId: string): boolean {
  return keyId.startsWith(startKeyPrefix);
}

/** A fresh secret. */
export function newSecret(): string {
  let number = BigInt(`0x${Buffer.from(secureBytes(32)).toString("hex")}`);
  let digits = "";
  for (let digit = 0; digit < digitCount; digit++) {
    digits = (alphabet[Number(number % 62n)] ?? "") + digits;
    number /= 62n;
  }
  return `hone_${digits}`;
}

/**
 * The key of a secret, made now.
 *
 * @throws ServiceError `invalid` when the entity could not stand in a model's name
 */
export function keyOf(
  secret: string,
  about: Pick<AccessKey, "id" | "entity" | "role" | "owner"> & Partial<KeyChoices>,
  clock: Clock,
): AccessKey {
  refuseStrangeEntity(about.entity);
  return { ...freshKey, ...about, secretHash: hashSecret(secret), createdAt: clock.now() };
}

/** @throws ServiceError `invalid` for what could not stand in a model's name */
export function refuseStrangeEntity(entity: string): void {
  if (isPlainPart(entity)) return;
  const message = `The entity is ${JSON.stringify(entity)}; it is part of model names and addresses, so it must not be empty or dots alone, or contain blanks, "/", ":", control characters or what is percent-encoded, such as "%2f".`;
  const faults = [{ location: ["entity"], message, type: "value_error" }];
  throw new ServiceError({ code: "invalid", message, faults });
}
