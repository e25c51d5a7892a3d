// How a hub is reached: where it is, who asks, and how long anything is waited for.
import type { Clock } from "../../../../base/domain/clock.ts";
import { isLoopback } from "../../../../base/domain/loopback.ts";
import { invalid } from "../../../../base/domain/service-error.ts";

export interface HubAccess {
  /** Without a slash at its end; as `HF_ENDPOINT` names it. */
  readonly endpoint: string;
  /** As `HF_TOKEN` has it; null asks as everybody may. */
  readonly token: string | null;
  readonly clock: Clock;
  /** Called when something is waited for before it is tried again. */
  readonly onPause: (pause: Pause) => void;
  /** In place of what holds otherwise. */
  readonly limits?: Partial<HubLimits>;
}

export interface Pause {
  readonly seconds: number;
  /** For people, as a clause. */
  readonly reason: string;
}

export interface HubLimits {
  /** How long nothing at all may come, in milliseconds. */
  readonly silenceMs: number;
  /** How often something is tried again, without anything having come meanwhile. */
  readonly retryCount: number;
  /** Before the first time, in milliseconds; twice as long before each further one. */
  readonly pauseMs: number;
  /** The longest that a hub may ask to wait, in milliseconds. */
  readonly pauseMsMax: number;
}

export const hubLimits: HubLimits = {
  silenceMs: 30_000,
  retryCount: 5,
  pauseMs: 1000,
  pauseMsMax: 300_000,
};

/**
 * Refuses what a hub cannot be reached with.
 *
 * @throws ServiceError `invalid` naming the variable and the cure
 */
export function checkAccess({ endpoint, token }: Pick<HubAccess, "endpoint" | "token">): void {
  if (!URL.canParse(endpoint))
    throw invalid(`HF_ENDPOINT is ${JSON.stringify(endpoint)}, which is no address.`);
  const { protocol, hostname } = new URL(endpoint);
  if (protocol !== "https:" && protocol !== "http:")
    throw invalid(`HF_ENDPOINT is ${endpoint}; it must begin with https:// or http://.`);
  if (token === null) return;
  if (!/^hf_[\x21-\x7e]+$/.test(token))
    throw invalid("HF_TOKEN is no token of the hub: those begin with hf_.");
  if (protocol === "http:" && !isLoopback(hostname))
    throw invalid(
      `HF_TOKEN would be sent to ${endpoint} for everybody on the way to read. Name the mirror with https://, or unset HF_TOKEN.`,
    );
}
