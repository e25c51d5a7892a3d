// Authenticates requests by the key of a rollout. Such a key permits only calls of the rollout's model while the
// rollout is open. The limits of the key that created the rollout apply.
import { type Caller, hashSecret, type KeyStore } from "../../../base/domain/access.ts";
import type { Clock } from "../../../base/domain/clock.ts";
import type { Rollout, RolloutPass } from "../../../base/domain/rollouts/rollout.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import { isRolloutSecret } from "../../../access/keys/key-secret.ts";
import type { RolloutService } from "../../../train/rollouts/rollout-service.ts";
import type { ModelService } from "../../../inference/models/registry/model-service.ts";
import { type AuthenticatedCaller, unauthorized } from "./authentication.ts";

export interface RolloutKeyDependencies {
  readonly rollouts: Pick<RolloutService, "findByKey" | "refuseFull">;
  readonly models: Pick<ModelService, "ownerOf">;
  readonly keys: Pick<KeyStore, "find">;
  readonly clock: Clock;
  /** Called before a request with an unknown key is refused. May throw another error instead. */
  readonly onUnknownKey: () => void;
}

/**
 * Returns the caller whom a rollout's key identifies; null if the credentials are no such key.
 *
 * @param header value of the header `Authorization`
 * @throws ServiceError `unauthorized` for an unknown key, and for a rollout that has ended; `unsupported` for a rollout
 * that has reached a limit
 */
export async function authenticateRollout(
  { rollouts, models, keys, clock, onUnknownKey }: RolloutKeyDependencies,
  header: string | undefined,
): Promise<AuthenticatedCaller | null> {
  const secret = /^\s*bearer\s+(\S+)\s*$/i.exec(header ?? "")?.[1] ?? "";
  if (!isRolloutSecret(secret)) return null;
  const rollout = await rollouts.findByKey(hashSecret(secret));
  const owned = rollout === null ? null : await models.ownerOf(rollout.modelId);
  if (rollout === null || owned === null) {
    onUnknownKey();
    throw unauthorized("Bearer", "The key of the rollout is unknown. Create a rollout, and use its api_key.");
  }
  const creator = await keys.find(rollout.keyId);
  const { revokedAt = null, expiresAt = null } = creator ?? {};
  if (revokedAt !== null || (expiresAt !== null && expiresAt <= clock.now()))
    throw unauthorized("Bearer", "The key that created this rollout was revoked or has expired.");
  const caller: Caller = {
    keyId: rollout.keyId,
    entity: owned.entity,
    role: "member",
    owner: rollout.owner,
    scopes: ["chat"],
    project: owned.project,
    rollout: rolloutPass(rollout, rollouts, "unauthorized"),
  };
  return { caller, key: creator };
}

/**
 * Returns the permission to call the model of a rollout.
 *
 * @param code error code for a rollout that has ended
 * @throws ServiceError with this code; `unsupported` if the rollout has reached a limit
 */
export function rolloutPass(
  rollout: Rollout,
  rollouts: Pick<RolloutService, "refuseFull">,
  code: "unauthorized" | "conflict",
): RolloutPass {
  const { id, modelId, pinnedStep, state, endedAt } = rollout;
  if (state === "open") {
    rollouts.refuseFull(rollout);
    return { id, modelId, pinnedStep };
  }
  const what = state === "expired" ? "expired" : `was ${state}`;
  const message = `This rollout ${what} at ${endedAt?.toISOString()}, and accepts no more calls. Create another one.`;
  throw code === "unauthorized" ? unauthorized("Bearer", message) : new ServiceError({ code, message });
}
