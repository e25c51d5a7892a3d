// Access to a hub of models: its address, the token, and timeouts.
import type { Clock } from "../../../../base/domain/clock.ts";
import { isLoopback } from "../../../../base/domain/loopback.ts";
import { invalid } from "../../../../base/domain/service-error.ts";

export interface HubAccess {
  /** URL of the hub without a trailing slash, as in `HF_ENDPOINT`. */
  readonly endpoint: string;
  /** Access token, as in `HF_TOKEN`; null for anonymous access. */
  readonly token: string | null;
  readonly clock: Clock;
  /** Called before each wait for a retry. */
  readonly onPause: (pause: Pause) => void;
  /** Limits that replace the defaults. */
  readonly limits?: Partial<HubLimits>;
}

export interface Pause {
  readonly seconds: number;
  /** Reason for the wait, as a clause that can be part of a message. */
  readonly reason: string;
}

export interface HubLimits {
  /** Maximum time without any data, in milliseconds. */
  readonly silenceMs: number;
  /** Maximum number of consecutive retries without any data. */
  readonly retryCount: number;
  /** Pause before the first retry, in milliseconds. It doubles with each further retry. */
  readonly pauseMs: number;
  /** Maximum pause before a retry, in milliseconds. If the hub asks for a longer one, the request fails. */
  readonly pauseMsMax: number;
}

export const hubLimits: HubLimits = {
  silenceMs: 30_000,
  retryCount: 5,
  pauseMs: 1000,
  pauseMsMax: 300_000,
};

/**
 * Refuses an endpoint or token that is invalid.
 *
 * @throws ServiceError `invalid` naming the variable and the cure
 */
export function checkAccess({ endpoint, token }: Pick<HubAccess, "endpoint" | "token">): void {
  if (!URL.canParse(endpoint))
    throw invalid(`HF_ENDPOINT is ${JSON.stringify(endpoint)}, which is not a URL.`);
  const { protocol, hostname } = new URL(endpoint);
  if (protocol !== "https:" && protocol !== "http:")
    throw invalid(`HF_ENDPOINT is ${endpoint}; it must begin with https:// or http://.`);
  if (token === null) return;
  if (!/^hf_[\x21-\x7e]+$/.test(token))
    throw invalid("HF_TOKEN is no token of the hub: those begin with hf_.");
  if (protocol === "http:" && !isLoopback(hostname))
    throw invalid(
      `HF_TOKEN would be sent to ${endpoint} unencrypted. Name the mirror with https://, or unset HF_TOKEN.`,
    );
}
