// Identifiers: UUIDs of version 4 and 7 (RFC 9562), and API keys.
import { randomUUID } from "node:crypto";
import type { Clock } from "./clock.ts";
import { secureBytes } from "./random.ts";

/** A random UUID (version 4). */
export function newUuid(): string {
  return randomUUID();
}

/** A UUID of version 7: ids made later sort later, to the millisecond. */
export function newUuid7(clock: Clock): string {
  const bytes = secureBytes(16);
  const milliseconds = BigInt(clock.now().getTime());
  for (let byte = 0; byte < 6; byte++) bytes[byte] = Number((milliseconds >> BigInt(8 * (5 - byte))) & 0xffn);
  bytes[6] = 0x70 | (bytes[6] & 0x0f);
  bytes[8] = 0x80 | (bytes[8] & 0x3f);
  const hex = Buffer.from(bytes).toString("hex");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

export function isUuid(text: string): boolean {
  return uuidPattern.test(text);
}
