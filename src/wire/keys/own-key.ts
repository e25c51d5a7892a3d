// The key that a request came with, as the API says it to whoever sent it.
import { Type } from "typebox";
import type { Caller } from "../../domain/access.ts";

export const callerSchema = Type.Object(
  {
    id: Type.String({ description: "Of the key; `none` where the server asks for none." }),
    owner: Type.String({ description: "Whose it is; feedback has it as `vendor_user_id`." }),
    entity: Type.String({ description: "Whose models and jobs it reaches; an admin reaches all." }),
    role: Type.Enum(["member", "admin"]),
  },
  { title: "OwnKey" },
);

export function callerBody({ keyId, owner, entity, role }: Caller): object {
  return { id: keyId, owner, entity, role };
}
