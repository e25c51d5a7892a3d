// What shows a receiver that a request is this server's and new: the symmetric signature of Standard Webhooks 1.0
// (https://www.standardwebhooks.com, "v1"), HMAC-SHA256 over id, time and body.
import { createHmac } from "node:crypto";
import { secureBytes } from "../../base/domain/random.ts";

const prefix = "whsec_";
/** Of a secret, as the standard recommends. */
const secretBytes = { min: 24, max: 64, ours: 32 } as const;

/** A fresh secret. */
export function newSecret(): string {
  return `${prefix}${Buffer.from(secureBytes(secretBytes.ours)).toString("base64")}`;
}

/** Whether the text is `whsec_` and the base64 of 24 to 64 bytes. */
export function isSecret(text: string): boolean {
  if (!text.startsWith(prefix)) return false;
  const encoded = text.slice(prefix.length);
  const bytes = Buffer.from(encoded, "base64");
  return (
    bytes.toString("base64") === encoded && bytes.length >= secretBytes.min && bytes.length <= secretBytes.max
  );
}

/** The headers that name an event, say when it is sent, and sign both with the body. */
export function signedHeaders(
  secret: string,
  { id, at, body }: { readonly id: string; readonly at: Date; readonly body: string },
): Readonly<Record<string, string>> {
  const timestamp = String(Math.floor(at.getTime() / 1000));
  const key = Buffer.from(secret.slice(prefix.length), "base64");
  const signature = createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest("base64");
  return { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": `v1,${signature}` };
}
