// Keys as the API spells them for administrators: making, changing, rotating and showing them.
import { Type } from "typebox";
import {
  type AccessKey,
  graceSecondsDefault,
  graceSecondsMax,
  keyFields,
  keyTextMax,
} from "../../../base/domain/access.ts";
import { integer } from "../../../base/domain/resources/fields.ts";
import { alteration, answerOf, asked, changed, creation, shown } from "../fields/resource.ts";
import { nullable, orNull } from "../nullable.ts";
import { pageQueryFields } from "../page.ts";

const roles = ["member", "admin"] as const;
const dateTime = Type.String({ format: "date-time" });
const text = Type.String({ minLength: 1, maxLength: keyTextMax });

export const keyCreateForm = creation("KeyCreate", {
  ...asked(keyFields),
  entity: nullable(text, {
    description: "Whose models, jobs and feedback it reaches; a new name is a new entity.",
    "x-default": "that of the key that asks",
  }),
  owner: nullable(text, {
    description: "A name for people; feedback has it as `vendor_user_id`.",
    "x-default": "the entity",
  }),
  role: nullable(Type.Enum([...roles]), {
    default: "member",
    description: "An admin's key reaches every entity, and makes keys.",
  }),
});
export const keyChangeForm = alteration("KeyChange", changed(keyFields, "values"), "values");

const rotationFields = {
  graceSeconds: integer({
    minimum: 0,
    maximum: graceSecondsMax,
    default: graceSecondsDefault,
    about: "How long the secret that it has now still holds; 0 ends it at once.",
  }),
};
export const keyRotationForm = creation("KeyRotation", asked(rotationFields));

export const keyQuerySchema = Type.Object({
  ...pageQueryFields,
  entity: Type.Optional(Type.String({ description: "Only those of this entity." })),
});

const { name, expires_at: expiresAt, ...choices } = shown(keyFields);
const rows = {
  id: Type.String(),
  name,
  entity: Type.String({ description: "Whose models, jobs and feedback it reaches; an admin's reaches all." }),
  owner: Type.String({ description: "A name for people; feedback has it as `vendor_user_id`." }),
  role: Type.Enum([...roles]),
  ...choices,
  created_at: dateTime,
  expires_at: expiresAt,
  last_used_at: orNull(dateTime, {
    description: "When a request last came with it, to the minute; null where none did.",
  }),
  former_secret_until: [
    orNull(dateTime, {
      description:
        "How long the secret before the latest rotation holds, or held; null where there was none.",
    }),
    ({ previous }: AccessKey) => previous?.until ?? null,
  ],
  revoked_at: orNull(dateTime),
} as const;
export const keyAnswer = answerOf<AccessKey>()("Key", rows);
export const newKeyAnswer = answerOf<AccessKey & { readonly key: string }>()("NewKey", {
  ...rows,
  key: Type.String({ description: "The secret, which requests send; no other answer has it." }),
});
