// Routes for administrators that create, list, change, rotate and revoke API keys.
import type { FastifyInstance } from "fastify";
import type { NewKey } from "../../../../access/keys/key-service.ts";
import {
  keyAnswer,
  keyChangeForm,
  keyCreateForm,
  keyQuerySchema,
  keyRotationForm,
  newKeyAnswer,
} from "../../../wire/keys/key.ts";
import { pageAnswer, pageRequest, pageSchema } from "../../../wire/page.ts";
import { adminOnly } from "../../credentials/admin-only.ts";
import type { HttpDependencies } from "../../dependencies.ts";
import { endpoints } from "../../endpoints/endpoint.ts";

export const keyAdminOptions = adminOnly(
  "Only administrators can create and change keys; this one is a member's.",
);

export function keyRoutes(app: FastifyInstance, { keyService: keys }: HttpDependencies): void {
  const on = endpoints(app, { tag: "keys", scheme: "bearer", options: keyAdminOptions });
  const one = { answer: "The key, without its secret.", json: keyAnswer.schema };
  const oneWithSecret = {
    answer: "The key with its secret, which no other answer contains.",
    json: newKeyAnswer.schema,
  };
  on(
    "POST /v1/preview/keys",
    {
      summary: "Create a key",
      description:
        "Requires an admin key, like all routes that manage keys. The new key is valid immediately.",
      body: keyCreateForm,
      ...oneWithSecret,
    },
    async ({ body: { entity, role, ...choices }, caller }) =>
      withSecret(await keys.create({ ...choices, entity: entity ?? caller.entity, role: role ?? "member" })),
  );
  on(
    "GET /v1/preview/keys",
    {
      summary: "List keys",
      query: keyQuerySchema,
      answer: "A page of keys, newest first by default, including revoked ones.",
      json: pageSchema(keyAnswer.schema),
    },
    ({ query }) =>
      pageAnswer(keys.list(pageRequest(query, "desc"), { entity: query.entity ?? null }), keyAnswer.body),
  );
  on("GET /v1/preview/keys/:key_id", { summary: "Read a key", ...one }, async ({ params }) =>
    keyAnswer.body(await keys.find(params.key_id)),
  );
  on(
    "POST /v1/preview/keys/:key_id",
    {
      summary: "Change a key",
      description:
        "Fields that are absent do not change. Null removes a limit. Changes take effect with the next request.",
      body: keyChangeForm,
      ...one,
    },
    async ({ params, body }) => keyAnswer.body(await keys.change(params.key_id, body)),
  );
  on(
    "POST /v1/preview/keys/:key_id/rotate",
    {
      summary: "Rotate a key's secret",
      description:
        "Creates a new secret; the key keeps its id and settings. The current secret remains valid for a grace period, so that you can update the programs that use it. If an even older secret is still in its grace period, that older secret becomes invalid immediately.",
      body: keyRotationForm,
      ...oneWithSecret,
    },
    async ({ params, body }) => withSecret(await keys.rotate(params.key_id, body.graceSeconds)),
  );
  on(
    "DELETE /v1/preview/keys/:key_id",
    {
      summary: "Revoke a key",
      description:
        "The key becomes invalid immediately, and its running requests end. It remains in the list of keys.",
      ...one,
    },
    async ({ params }) => keyAnswer.body(await keys.revoke(params.key_id)),
  );
}

function withSecret({ key, secret }: NewKey): object {
  return newKeyAnswer.body({ ...key, key: secret });
}
