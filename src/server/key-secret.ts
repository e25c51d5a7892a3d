// What a key is made of: `hone_` and 32 random bytes in base 62. What is stored of it is in domain/access.
import { secureBytes } from "../domain/random.ts";

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
