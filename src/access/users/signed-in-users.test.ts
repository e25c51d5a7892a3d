import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { test, type TestContext } from "node:test";
import { FakeClock } from "../../base/domain/testing/fake-clock.ts";
import { userSettings, type UserSettings } from "./settings.ts";
import { checkUserSettings, createSignedInUsers, type SignedInUsers } from "./signed-in-users.ts";
import { signedToken, startIssuer, type TestIssuer } from "./testing/issuer.ts";

const clock = new FakeClock();
const now = Math.floor(clock.now().getTime() / 1000);
const audience = "hone";

function users(settings: Partial<UserSettings>): SignedInUsers {
  const whole = userSettings.with(settings);
  checkUserSettings(whole);
  return createSignedInUsers({ settings: whole, defaultEntity: "local", clock });
}

async function issuer(t: TestContext): Promise<TestIssuer> {
  const started = await startIssuer();
  t.after(() => started.close());
  return started;
}

const claimsOf = ({ url }: TestIssuer, more: object = {}): object => ({
  iss: url,
  aud: audience,
  sub: "248289761001",
  email: "ann@example.com",
  exp: now + 600,
  ...more,
});

const member = { role: "member", scopes: null, project: null } as const;

test("accepts a user named in a proxy's header only from the proxy's addresses", async () => {
  const { ofHeaders } = users({
    header: "X-Forwarded-User",
    groupsHeader: "X-Forwarded-Groups",
    proxies: ["127.0.0.1", "10.1.0.0/16", "fd00::/8"],
  });
  const ann = { ...member, keyId: "user:ann", entity: "local", owner: "ann" };
  for (const address of ["127.0.0.1", "10.1.255.3", "::ffff:10.1.2.3", "fd12::1"])
    assert.deepEqual(await ofHeaders({ "x-forwarded-user": "ann" }, address), ann, address);
  for (const address of ["10.2.0.1", "127.0.0.2", "::1", "::ffff:192.0.2.1", ""])
    await assert.rejects(ofHeaders({ "x-forwarded-user": "ann" }, address), {
      code: "unauthorized",
      message: `X-Forwarded-User names a user, and comes from ${address}, which is none of the proxies of this server (users.proxies).`,
    });
  assert.equal(await ofHeaders({}, "127.0.0.1"), null);
  assert.equal(await ofHeaders({ "x-forwarded-user": " " }, "192.0.2.1"), null);
  for (const name of ["a".repeat(129), "a\u0007b"])
    await assert.rejects(ofHeaders({ "x-forwarded-user": name }, "127.0.0.1"), { code: "unauthorized" });
});

test("grants access by the first matching group, and none without one", async () => {
  const { ofHeaders } = users({
    header: "X-User",
    groupsHeader: "X-Groups",
    proxies: ["127.0.0.1"],
    groups: ["cn=platform,dc=acme=*", "search=acme", "games=globex"],
  });
  const asked = (groups?: string) =>
    ofHeaders({ "x-user": "ann", ...(groups === undefined ? {} : { "x-groups": groups }) }, "127.0.0.1");
  assert.deepEqual(await asked("games, search"), {
    ...member,
    keyId: "user:ann",
    entity: "acme",
    owner: "ann",
  });
  assert.equal((await asked("games"))?.entity, "globex");
  for (const groups of [undefined, "", "Search", "other,another"])
    await assert.rejects(asked(groups), { code: "forbidden", message: /"ann" is in no group/ });
  const admins = users({ header: "X-User", groupsHeader: "X-Groups", proxies: ["::1"], groups: ["it=*"] });
  const admin = await admins.ofHeaders({ "x-user": "bob", "x-groups": "it" }, "::1");
  assert.deepEqual([admin?.role, admin?.entity, admin?.owner], ["admin", "local", "bob"]);
});

test("accepts a token of the issuer in place of a key, signed by any of its keys", async (t) => {
  const from = await issuer(t);
  const { ofToken, ofHeaders } = users({
    issuer: from.url,
    audience,
    tokenHeader: "X-Forwarded-Access-Token",
    groups: ["team=acme"],
  });
  const ann = { ...member, keyId: "user:ann@example.com", entity: "acme", owner: "ann@example.com" };
  for (const algorithm of ["RS256", "ES256"] as const)
    for (const groups of ["team", ["other", "team", 5]]) {
      const token = from.token(claimsOf(from, { groups }), algorithm);
      assert.deepEqual(await ofToken(token), ann);
      assert.deepEqual(await ofHeaders({ "x-forwarded-access-token": `Bearer ${token}` }, "192.0.2.1"), ann);
    }
  assert.equal(from.askedCount(), 2);
  assert.equal(await ofToken("hone_abc"), null);
  assert.equal(await ofHeaders({}, "127.0.0.1"), null);
  await assert.rejects(ofHeaders({ "x-forwarded-access-token": "hone_abc" }, "127.0.0.1"), {
    code: "unauthorized",
    message: "X-Forwarded-Access-Token holds no token.",
  });
});

test("refuses an invalid token and names its fault", async (t) => {
  const from = await issuer(t);
  const { ofToken } = users({ issuer: from.url, audience });
  const other = await issuer(t);
  const good = from.token(claimsOf(from));
  const [header = "", body = ""] = good.split(".");
  const forged = Buffer.from(JSON.stringify(claimsOf(from, { email: "eve@example.com" }))).toString(
    "base64url",
  );
  const byPublicKey = signedToken({ alg: "HS256", kid: "RS256" }, claimsOf(from), (input) =>
    createHmac("sha256", "the public key").update(input).digest(),
  );
  const refused: readonly (readonly [string, RegExp])[] = [
    [from.token(claimsOf(from, { exp: now - 31 })), /^The token has expired/],
    [from.token(claimsOf(from, { nbf: now + 60 })), /"nbf"/],
    [from.token(claimsOf(from, { aud: "another" })), /"aud"/],
    [from.token(claimsOf(from, { aud: undefined })), /"aud"/],
    [from.token(claimsOf(from, { iss: other.url })), /"iss"/],
    [from.token(claimsOf(from, { exp: undefined })), /"exp"/],
    [from.token(claimsOf(from, { email: undefined })), /no claim "email"/],
    [from.token(claimsOf(from, { email: ["ann"] })), /no claim "email"/],
    [other.token(claimsOf(from)), /not signed by the issuer/],
    [good.replace(body, forged), /not signed by the issuer/],
    [byPublicKey, /cannot be read/],
    [signedToken({ alg: "none" }, claimsOf(from), () => Buffer.from("x")), /cannot be read/],
    [`${header}.${body.slice(0, -3)}.AAAA`, /./],
  ];
  for (const [token, message] of refused)
    await assert.rejects(ofToken(token), { code: "unauthorized", message }, String(message));
  // A token that expired 29 seconds ago is accepted: the server tolerates a clock difference of 30 seconds.
  assert.equal((await ofToken(from.token(claimsOf(from, { exp: now - 29 }))))?.owner, "ann@example.com");
});

test("refuses a name that the issuer reports as unverified", async (t) => {
  const from = await issuer(t);
  const byEmail = users({ issuer: from.url, audience });
  for (const verified of [undefined, true, "true", "True"]) {
    const token = from.token(claimsOf(from, { email_verified: verified }));
    assert.equal((await byEmail.ofToken(token))?.owner, "ann@example.com", String(verified));
  }
  for (const verified of [false, "false", "False", "", null, 0, 1, ["true"], { toString: 1 }])
    await assert.rejects(byEmail.ofToken(from.token(claimsOf(from, { email_verified: verified }))), {
      code: "unauthorized",
      message: `The token's claim "email_verified" is ${JSON.stringify(verified)}, so that its email may be anybody's; have it verified by the issuer, or see users.nameClaim.`,
    });
  const unverified = { email_verified: false, phone_number: "+1 555 0100", phone_number_verified: false };
  const token = from.token(claimsOf(from, unverified));
  const bySubject = users({ issuer: from.url, audience, nameClaim: "sub" });
  assert.equal((await bySubject.ofToken(token))?.owner, "248289761001");
  const byNumber = users({ issuer: from.url, audience, nameClaim: "phone_number" });
  await assert.rejects(byNumber.ofToken(token), { code: "unauthorized", message: /"phone_number_verified"/ });
  const proxied = users({ issuer: from.url, audience, tokenHeader: "X-Token" });
  await assert.rejects(proxied.ofHeaders({ "x-token": token }, "127.0.0.1"), { code: "unauthorized" });
});

test("makes users wait for an unreachable issuer, without contacting it for each of them", async (t) => {
  const from = await issuer(t);
  const { ofToken } = users({ issuer: from.url, audience });
  const token = from.token(claimsOf(from));
  const refusals: readonly (() => void)[] = [
    () => (from.answers.status = 500),
    () =>
      (from.answers.discovery = JSON.stringify({
        issuer: "https://other.example",
        jwks_uri: `${from.url}/keys`,
      })),
    () => (from.answers.discovery = "no JSON"),
    () => (from.answers.discovery = "null"),
    () => (from.answers.discovery = JSON.stringify({ issuer: from.url })),
  ];
  for (const spoil of refusals) {
    spoil();
    const before = from.askedCount();
    const refusal = { code: "unavailable", retryAfterSeconds: 10, message: /cannot be reached for its keys/ };
    await Promise.all([assert.rejects(ofToken(token), refusal), assert.rejects(ofToken(token), refusal)]);
    await assert.rejects(ofToken(token), refusal);
    assert.equal(from.askedCount(), before + 1);
    Object.assign(from.answers, { discovery: null, status: 200 });
    await assert.rejects(ofToken(token), refusal);
    await clock.advance(10_000);
  }
  assert.equal((await ofToken(token))?.owner, "ann@example.com");
});

test("refuses inconsistent settings and names the missing ones", () => {
  const proxied = { header: "X-User", proxies: ["127.0.0.1"] };
  const byToken = { issuer: "https://login.example.com", audience };
  const refused: readonly (readonly [Partial<UserSettings>, RegExp])[] = [
    [{ header: "X-User" }, /without users\.proxies/],
    [{ issuer: "https://login.example.com" }, /without users\.audience/],
    [{ ...proxied, ...byToken }, /both set/],
    [{ ...byToken, issuer: "http://login.example.com" }, /must be an https:/],
    [{ ...byToken, issuer: "login" }, /must be an https:/],
    [{ ...proxied, header: "X User" }, /must be the name of a header/],
    [{ ...proxied, proxies: ["proxy.example"] }, /users\.proxies has "proxy\.example"/],
    [{ ...proxied, proxies: ["10.0.0.0/33"] }, /users\.proxies/],
    [{ ...proxied, proxies: ["10.0.0.0/"] }, /users\.proxies/],
    [{ ...proxied, groups: ["team"] }, /users\.groups has "team"/],
    [{ ...proxied, groups: ["=acme"] }, /users\.groups/],
    [{ ...proxied, groups: ["team=a/b"] }, /users\.groups/],
  ];
  for (const [settings, message] of refused)
    assert.throws(() => checkUserSettings(userSettings.with(settings)), { code: "invalid", message });
  for (const settings of [{}, proxied, byToken, { ...byToken, issuer: "http://127.0.0.1:9000" }])
    checkUserSettings(userSettings.with(settings));
});
