// Which limits hold for the requests of a key: its own, and those of its entity.
import type { AccessKey } from "../../../base/domain/access.ts";
import type { KeyLimits, Limited } from "../../../base/domain/keys/limits.ts";
import { quoted } from "../../../base/domain/service-error.ts";

/**
 * @param key null of the operator's users, who have none
 * @param ofEntity the entity's own
 * @param defaults of what the entity has no limit of its own of
 */
export function limitedOf(
  {
    entity,
    key,
    ofEntity,
  }: { readonly entity: string; readonly key: AccessKey | null; readonly ofEntity: KeyLimits },
  defaults: KeyLimits,
): readonly Limited[] {
  const together: KeyLimits = {
    requestsPerMinute: ofEntity.requestsPerMinute ?? defaults.requestsPerMinute,
    tokensPerMinute: ofEntity.tokensPerMinute ?? defaults.tokensPerMinute,
    concurrentRequests: ofEntity.concurrentRequests ?? defaults.concurrentRequests,
    queuePercent: ofEntity.queuePercent ?? defaults.queuePercent,
    queuedJobs: ofEntity.queuedJobs ?? defaults.queuedJobs,
  };
  const all: readonly Limited[] = [
    ...(key === null ? [] : [{ subject: `key:${key.id}`, name: "This key", limits: key } as const]),
    { subject: `entity:${entity}`, name: `The entity ${quoted(entity)}`, limits: together },
  ];
  return all.filter(({ limits }) => limitsRequests(limits));
}

/** Jobs are counted where they are stored. */
function limitsRequests(limits: KeyLimits): boolean {
  return (
    limits.requestsPerMinute !== null ||
    limits.tokensPerMinute !== null ||
    limits.concurrentRequests !== null ||
    limits.queuePercent !== null
  );
}
