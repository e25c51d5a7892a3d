// API format of a key's description, for a client that asks about the key that it uses.
import { Type } from "typebox";
import type { Caller } from "../../../base/domain/access.ts";
import { keyScopes } from "../../../base/domain/keys/key-scope.ts";
import { answerOf } from "../fields/resource.ts";
import { orNull } from "../nullable.ts";

export const callerAnswer = answerOf<Caller>()("OwnKey", {
  id: [Type.String({ description: "Id of the key; `none` if authentication is off." }), ({ keyId }) => keyId],
  owner: Type.String({
    description: "Owner of the key. Feedback written with the key has this name as `vendor_user_id`.",
  }),
  entity: Type.String({
    description:
      "Entity whose models, jobs and feedback the key can access. An admin key can access all entities.",
  }),
  role: Type.Enum(["member", "admin"]),
  scopes: orNull(Type.Array(Type.Enum([...keyScopes])), {
    description: "Scopes of the key; null if the key may do everything that its role allows.",
  }),
  project: orNull(Type.String(), {
    description: "Only project that the key can access; null for all projects of its entity.",
  }),
});
