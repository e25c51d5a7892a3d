// Tests of the views and actions that the page offers to keys with scopes, a project or a role.
import assert from "node:assert/strict";
import { test } from "node:test";
import { scopesOf } from "../../../api/http/credentials/route-scopes.ts";
import { type Access, canDo, canOpen, closedTitles, needText, scopes, titlesWith } from "./key-access.ts";

const member: Access = { role: "member", scopes: null, project: null };
const annotator: Access = { ...member, scopes: ["chat", "feedback"] };

test("opens the views of a key's scopes, and says what the others need", () => {
  for (const view of [
    "",
    "chat",
    "compare",
    "queues",
    "feedback",
    "conversations",
    "chats",
    "usage",
    "bases",
  ])
    assert.ok(canOpen(annotator, view), view);
  for (const view of ["models", "evaluation", "jobs", "train", "rules", "webhooks", "logs"])
    assert.ok(!canOpen(annotator, view), view);
  assert.match(needText(annotator, "models"), /needs a key with the scope train or read; .*chat, feedback/);
  assert.match(needText(member, "logs"), /for administrators; your key is a member's/);
  assert.match(needText({ ...annotator, role: "admin" }, "logs"), /keys without limits/);
  assert.match(needText({ ...member, project: "shop" }, "retention"), /limited to the project shop/);
  assert.deepEqual(closedTitles(member), ["Logs"]);
  assert.deepEqual(closedTitles({ ...member, role: "admin" }), []);
});

test("offers the actions of a key's scopes and role", () => {
  assert.ok(canDo(annotator, "judge"));
  assert.ok(!canDo(annotator, "train"));
  assert.ok(canDo(member, "manageWebhooks"));
  assert.ok(!canDo({ ...member, scopes: ["read"] }, "manageWebhooks"));
  assert.ok(!canDo({ ...member, project: "shop" }, "manageWebhooks"));
  assert.ok(!canDo(member, "administer"));
  assert.ok(canDo({ ...member, role: "admin" }, "administer"));
});

test("lists the views of each scope", () => {
  assert.deepEqual(titlesWith("chat"), ["Chat"]);
  assert.deepEqual(titlesWith("feedback"), ["Traces", "Conversations", "Feedback", "Queues"]);
});

test("agrees with the server about the routes of the views", () => {
  const routes = {
    models: "GET /v1/preview/models",
    jobs: "GET /v1/preview/training-jobs",
    rules: "GET /v1/preview/reward-rules",
    train: "POST /v1/preview/training-jobs",
    conversations: "GET /v1/chat/completions",
    feedback: "POST /feedback/query",
    queues: "POST /annotation_queues/query",
    chat: "POST /v1/chat/completions",
    webhooks: "GET /v1/preview/webhooks",
    retention: "GET /v1/preview/retention",
  };
  for (const [view, route] of Object.entries(routes)) {
    const [method = "", path = ""] = route.split(" ");
    const opens = scopesOf(method, path);
    const seen = scopes.filter((scope) => canOpen({ ...member, scopes: [scope] }, view));
    assert.deepEqual(
      seen,
      scopes.filter((scope) => opens?.scopes.includes(scope)),
      view,
    );
    assert.equal(!canOpen({ ...member, project: "shop" }, view), opens?.isWholeEntitys, view);
  }
});
