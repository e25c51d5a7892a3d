// Settings of a job as texts. Has no side effects.
import type { TrainingJob } from "../../client/api.ts";

export interface JobSetting {
  readonly name: string;
  readonly text: string;
  /** True if the request chose a value other than the default. */
  readonly isChanged: boolean;
}

/** Returns the settings in effect: those that the request changed first, each group in alphabetical order. */
export function jobSettings(job: TrainingJob): readonly JobSetting[] {
  const config: Readonly<Record<string, unknown>> =
    job.experimental_config ?? job.config ?? job.preference_config ?? {};
  return Object.entries(config)
    .map(([name, value]) => ({
      name,
      text: settingText(value),
      isChanged: job.config_changed.includes(name),
    }))
    .toSorted(
      (one, other) => Number(other.isChanged) - Number(one.isChanged) || one.name.localeCompare(other.name),
    );
}

function settingText(value: unknown): string {
  if (value === null || value === undefined) return "–";
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "string") return value;
  if (!Array.isArray(value)) return JSON.stringify(value);
  return value.length < 4 ? value.join(", ") : `${value[0]} … ${value.at(-1)} (${value.length} values)`;
}

/**
 * Returns the seconds from a job's creation to its start, or to now if it still waits. Returns null for a job that was
 * cancelled before its start.
 */
export function queueSeconds(
  { created_at: createdAt, started_at: startedAt, state }: TrainingJob,
  nowMs: number,
): number | null {
  if (startedAt === null && state !== "queued") return null;
  const end = startedAt === null ? nowMs : Date.parse(startedAt);
  return Math.max(0, (end - Date.parse(createdAt)) / 1000);
}
