// What a key is made of: a secret, `hone_` and 32 random bytes in base 62, and what is stored of it. Stores nothing.
import { freshKey, hashSecret, type AccessKey, type KeyChoices } from "../domain/access.ts";
import type { Clock } from "../domain/clock.ts";
import { secureBytes } from "../domain/random.ts";
import { ServiceError } from "../domain/service-error.ts";
import { isPlainPart } from "../registry/model-name.ts";

const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/** 62^43 > 2^256: as many digits as hold 32 bytes. */
const digitCount = 43;

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
  const { entity } = about;
  if (!isPlainPart(entity)) {
    const message = `The entity is ${JSON.stringify(entity)}; it is part of model names and addresses, so it must not be empty or dots alone, or contain blanks, "/", ":", control characters or what is percent-encoded, such as "%2f".`;
    throw new ServiceError({ code: "invalid", message });
  }
  return { ...freshKey, ...about, secretHash: hashSecret(secret), createdAt: clock.now() };
}
