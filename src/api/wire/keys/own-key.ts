// The key that a request came with, as the API says it to whoever sent it.
import { Type } from "typebox";
import type { Caller } from "../../../base/domain/access.ts";
import { keyScopes } from "../../../base/domain/keys/key-scope.ts";
import { answerOf } from "../fields/resource.ts";
import { orNull } from "../nullable.ts";

export const callerAnswer = answerOf<Caller>()("OwnKey", {
  id: [
    Type.String({ description: "Of the key; `none` where the server asks for none." }),
    ({ keyId }) => keyId,
  ],
  owner: Type.String({ description: "Whose it is; feedback has it as `vendor_user_id`." }),
  entity: Type.String({ description: "Whose models and jobs it reaches; an admin reaches all." }),
  role: Type.Enum(["member", "admin"]),
  scopes: orNull(Type.Array(Type.Enum([...keyScopes])), {
    description: "What it opens; null for all that its role may.",
  }),
  project: orNull(Type.String(), { description: "The one project that it reaches; null for all." }),
});
