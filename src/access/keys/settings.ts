// Settings of API keys: the default limits of entities.
import { limitFields, noLimits, type KeyLimits } from "../../base/domain/keys/limits.ts";
import { invalid, type ServiceError } from "../../base/domain/service-error.ts";
import { section, type SettingsIn, type SettingsSchema } from "../../base/domain/settings.ts";

const schema = {
  entityLimits: {
    kind: "list",
    default: [],
    about:
      "Default limits for all keys of an entity together: `requests=600` and `tokens=100000` per minute, `concurrent=8` running requests, `queue=50` percent of a model's request queue (`engine.waitingCountMax`). Limits that are set for an entity override them. Default: unlimited.",
  },
} as const satisfies SettingsSchema;

export const keySettings = section(schema);

export type KeySettings = SettingsIn<typeof keySettings>;

const limitOf: Readonly<Record<string, keyof KeyLimits>> = {
  requests: "requestsPerMinute",
  tokens: "tokensPerMinute",
  concurrent: "concurrentRequests",
  queue: "queuePercent",
};

/**
 * Returns the limits for entities whose limits no administrator has set. The job queue, not the rate limiter, enforces
 * the limit on queued jobs.
 *
 * @throws ServiceError `invalid` naming the item that cannot be parsed
 */
export function entityLimitsOf({ entityLimits }: KeySettings): KeyLimits {
  const limits: { -readonly [Limit in keyof KeyLimits]: number | null } = { ...noLimits };
  for (const item of entityLimits) {
    const [, name = "", digits = ""] = /^(\w+)=(\d{1,10})$/.exec(item) ?? [];
    const limit = Object.hasOwn(limitOf, name) ? limitOf[name] : null;
    const value = Number(digits);
    if (limit === null || value < 1 || value > limitFields[limit].maximum) throw invalidLimit(item);
    limits[limit] = value;
  }
  return limits;
}

function invalidLimit(item: string): ServiceError {
  const ranges = Object.entries(limitOf).map(([name, limit]) => `${name}=1 to ${limitFields[limit].maximum}`);
  const message = `keys.entityLimits has ${JSON.stringify(item)}; it takes ${ranges.join(", ")}.`;
  return invalid(message);
}
