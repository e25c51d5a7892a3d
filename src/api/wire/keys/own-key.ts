// The key that a request was sent with, as the API shows it to the sender.
import { Type } from "typebox";
import type { Caller } from "../../../base/domain/access.ts";
import { keyScopes } from "../../../base/domain/keys/key-scope.ts";
import { answerOf } from "../fields/resource.ts";
import { orNull } from "../nullable.ts";

export const callerAnswer = answerOf<Caller>()("OwnKey", {
  id: [
    Type.String({ description: "Id of the key; `none` if the server requires no key." }),
    ({ keyId }) => keyId,
  ],
  owner: Type.String({ description: "Owner of the key; stored in feedback as `vendor_user_id`." }),
  entity: Type.String({
    description: "Entity whose models and jobs the key can access; an admin key can access all.",
  }),
  role: Type.Enum(["member", "admin"]),
  scopes: orNull(Type.Array(Type.Enum([...keyScopes])), {
    description: "Scopes of the key; null if only its role limits it.",
  }),
  project: orNull(Type.String(), { description: "The only project that the key can access; null for all." }),
});
