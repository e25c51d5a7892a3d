// Reads the reward of a rollout from a text: a number, or a JSON object with `reward` and perhaps `metrics`.
import { invalid, quoted } from "../../../base/domain/service-error.ts";

export interface Reward {
  readonly reward: number;
  readonly metrics: Readonly<Record<string, number | boolean>>;
}

/**
 * Returns the reward in a text. If the text has several lines, only the last one counts.
 *
 * @param source name of the text for the message
 * @throws ServiceError `invalid`
 */
export function readReward(text: string, source: string): Reward {
  const whole = parsed(text.trim()) ?? parsed(text.trim().split("\n").at(-1) ?? "");
  if (whole !== null) return whole;
  throw invalid(
    `${source} is ${quoted(text.trim().slice(-200))}; it must end with a number, or with {"reward": <number>, "metrics": {...}}.`,
  );
}

function parsed(text: string): Reward | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  if (typeof value === "number") return { reward: value, metrics: {} };
  if (typeof value !== "object" || value === null || !("reward" in value)) return null;
  const metrics = "metrics" in value ? value.metrics : {};
  const isValid =
    typeof value.reward === "number" &&
    typeof metrics === "object" &&
    metrics !== null &&
    Object.values(metrics).every((one) => typeof one === "number" || typeof one === "boolean");
  // Safe cast: all values were just checked.
  return isValid ? { reward: Number(value.reward), metrics: metrics as Reward["metrics"] } : null;
}
