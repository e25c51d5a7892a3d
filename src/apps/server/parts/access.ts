// Builds access control: keys, signed-in users, rate limits and storage quotas.
import { isLoopback } from "../../../base/domain/loopback.ts";
import { systemClock } from "../../../base/domain/clock.ts";
import { createKeyService } from "../../../access/keys/key-service.ts";
import { createKeyUse, createUsageMeter } from "../../../access/keys/key-use.ts";
import { createEntityLimits } from "../../../access/keys/limits/entity-limits.ts";
import { createRateLimiter } from "../../../access/keys/limits/rate-limiter.ts";
import { entityLimitsOf } from "../../../access/keys/settings.ts";
import { createSignedInUsers } from "../../../access/users/signed-in-users.ts";
import type { HttpDependencies } from "../../../api/http/dependencies.ts";
import { createStorageQuotas } from "../../../store/retention/quotas.ts";
import { auditedLimits } from "../audit-keys.ts";
import type { WholeSettings } from "../settings.ts";
import type { ServerContext, Start } from "./context.ts";

export type Access = Awaited<ReturnType<typeof buildAccess>>;

export async function buildAccess(context: ServerContext, start: Start) {
  const { settings, database, keys, server, audit, tools, warn } = context;
  const { usage, limits, retention } = database;
  const { clock } = tools;
  const { auth, entity: defaultEntity } = settings.server;
  const onFaultOfKeys = warn("the last use of keys could not be written");
  const keyUse = createKeyUse({ keys: database.keys, clock, onFault: onFaultOfKeys });
  const meter = createUsageMeter({
    store: usage,
    clock,
    onFault: warn("the usage of keys could not be written yet"),
  });
  const onFault = warn("the usage for limits is not shared with other servers");
  const limiter = createRateLimiter({ ...tools, store: limits, serverId: server, onFault });
  for (const part of [keyUse, meter, limiter]) await start(part);
  const room = createStorageQuotas({ ...tools, store: retention, settings: settings.retention });
  const http = {
    keys: database.keys,
    keyService: createKeyService({ keys, clock }),
    keyUse,
    usage,
    limiter,
    limits: createEntityLimits(auditedLimits(limits, (entry) => audit.recordDurably(entry), clock)),
    entityLimits: entityLimitsOf(settings.keys),
    room,
    auth,
    defaultEntity,
    users: createSignedInUsers({ settings: settings.users, defaultEntity, clock: systemClock }),
    operatorRoutes: operatorRoutesOf(settings),
  };
  return { usage: meter, room, http };
}

/**
 * With `auto`, the operator's routes need no key if no other machine can reach the server, or if authentication is
 * off.
 */
function operatorRoutesOf({ http, server }: WholeSettings): HttpDependencies["operatorRoutes"] {
  if (http.operatorRoutes !== "auto") return http.operatorRoutes;
  if (server.auth === "off") return "open";
  return isLoopback(server.host) ? "local" : "key";
}
