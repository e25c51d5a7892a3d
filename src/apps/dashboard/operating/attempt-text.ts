// Describes the last attempt of a webhook's delivery, such as `status 500 after 20 ms`. Has no side effects.
import type { WebhookDelivery } from "../../client/api.ts";
import { msText } from "../components/numbers.ts";

export function attemptText({ attempts }: Pick<WebhookDelivery, "attempts">): string {
  const last = attempts.at(-1);
  if (last === undefined) return "not tried yet";
  const { status, error, duration_ms: duration } = last;
  const answer = status === null ? "no answer" : `status ${status}`;
  // For an answer with an error, the server's text is only the status.
  const reason = error === null || error === answer ? "" : `: ${error}`;
  return `${answer} after ${msText(duration)}${reason}`;
}
