// Verifies ID tokens with the issuer's public keys (OpenID Connect Core 1.0, section 3.1.3.7; RFC 7519).
import {
  createRemoteJWKSet,
  customFetch,
  errors,
  jwtVerify,
  type FetchImplementation,
  type JWTPayload,
  type JWTVerifyGetKey,
} from "jose";
import type { Clock } from "../../base/domain/clock.ts";
import { quoted, ServiceError } from "../../base/domain/service-error.ts";
import { HttpClient } from "../../base/http-client/http-client.ts";
import { HttpFailure } from "../../base/http-client/http-failure.ts";
import { readBytes } from "../../base/http-client/read-answer.ts";
import { TokenExpired, unauthorized } from "./user-errors.ts";

/**
 * Accepted signature algorithms: only those with a public key, because a secret would have to be shared with the
 * issuer.
 */
const algorithms = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"];
/** Tolerated difference in seconds between the clocks of issuer and server. */
const clockToleranceSeconds = 30;
const issuerWaitMs = 5000;
/** Maximum size in bytes of a document from the issuer; most have a few thousand bytes. */
const documentBytesMax = 4 * 2 ** 20;
const client = new HttpClient();
/**
 * Pause in milliseconds after a failed attempt to reach the issuer. During the pause, tokens are refused without
 * contacting the issuer.
 */
const issuerPauseMs = 10_000;

export interface IdTokens {
  /**
   * Verifies a token's signature, issuer, audience and times, and returns its claims.
   *
   * @throws ServiceError `unauthorized` with the token's fault, `unavailable` if the issuer cannot be reached
   */
  claimsOf(token: string): Promise<JWTPayload>;
}

/** True if a text looks like a signed token: three parts, the first of which begins like JSON in base64. */
export function isTokenLike(text: string): boolean {
  return /^eyJ[\w-]+\.[\w-]+\.[\w-]+$/.test(text);
}

/**
 * @param issuer URL of the issuer, exactly as in the claim `iss` of its tokens. Its public keys are fetched with the
 * first token, and again for a token that an unknown key has signed
 */
export function createIdTokens({
  issuer,
  audience,
  clock,
}: {
  readonly issuer: string;
  readonly audience: string;
  readonly clock: Clock;
}): IdTokens {
  let keys: Promise<JWTVerifyGetKey> | null = null;
  let failure: { readonly untilMs: number; readonly error: ServiceError } | null = null;
  const issuerKeys = (): Promise<JWTVerifyGetKey> => {
    if (failure !== null && clock.monotonicMs() < failure.untilMs) return Promise.reject(failure.error);
    return (keys ??= findKeys(issuer).catch((error: unknown) => {
      keys = null;
      const unavailable = cannotAsk(issuer, error);
      failure = { untilMs: clock.monotonicMs() + issuerPauseMs, error: unavailable };
      throw unavailable;
    }));
  };
  return {
    claimsOf: async (token) => {
      const getKey = await issuerKeys();
      try {
        const { payload } = await jwtVerify(token, getKey, {
          issuer,
          audience,
          algorithms,
          clockTolerance: clockToleranceSeconds,
          currentDate: clock.now(),
          requiredClaims: ["exp"],
        });
        return payload;
      } catch (error) {
        throw refusalOf(error, issuer);
      }
    },
  };
}

/**
 * Fetches the issuer's public keys.
 *
 * @throws an error that says why they cannot be fetched
 */
async function findKeys(issuer: string): Promise<JWTVerifyGetKey> {
  const place = `${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`;
  const answer = await ask(place, { signal: AbortSignal.timeout(issuerWaitMs) });
  if (!answer.ok) throw new Error(`${place} answered with ${answer.status}`);
  const found = (await answer.json()) as { readonly issuer?: unknown; readonly jwks_uri?: unknown };
  // OpenID Connect Discovery 1.0, section 4.3: the document must name the same issuer.
  if (found.issuer !== issuer) throw new Error(`${place} names the issuer ${quoted(String(found.issuer))}`);
  if (typeof found.jwks_uri !== "string" || !URL.canParse(found.jwks_uri))
    throw new Error(`${place} names no jwks_uri`);
  return createRemoteJWKSet(new URL(found.jwks_uri), { timeoutDuration: issuerWaitMs, [customFetch]: ask });
}

async function ask(
  url: string,
  { signal }: Pick<Parameters<FetchImplementation>[1], "signal">,
): Promise<Response> {
  const headers = { accept: "application/json" };
  const request = { url: new URL(url), headers, refusesRedirects: true, signal };
  const { status, body } = await client.send(request).catch((cause: unknown) => {
    throw cause instanceof HttpFailure ? new TypeError("fetch failed", { cause }) : cause;
  });
  return new Response(new Uint8Array(await readBytes(body, documentBytesMax)), { status });
}

function refusalOf(error: unknown, issuer: string): ServiceError {
  if (error instanceof errors.JWTExpired) return new TokenExpired();
  if (error instanceof errors.JWTClaimValidationFailed)
    return unauthorized(`The token is not valid here: ${error.message}`);
  if (error instanceof errors.JWKSNoMatchingKey || error instanceof errors.JWSSignatureVerificationFailed)
    return unauthorized("The token is not signed by the issuer of this server's users");
  if (error instanceof errors.JWKSTimeout || !(error instanceof errors.JOSEError))
    return cannotAsk(issuer, error);
  return unauthorized(`The token cannot be read: ${error.message}`);
}

function cannotAsk(issuer: string, error: unknown): ServiceError {
  return new ServiceError({
    code: "unavailable",
    message: `The issuer ${issuer} cannot be reached for its keys (${error instanceof Error ? error.message : String(error)}), so no token can be verified.`,
    retryAfterSeconds: issuerPauseMs / 1000,
  });
}
