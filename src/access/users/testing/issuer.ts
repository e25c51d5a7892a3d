// OpenID Connect issuer for tests, on the loopback address. It signs tokens with node:crypto, so that signing and
// verification share no code.
import { constants, generateKeyPairSync, sign, type KeyObject } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

export interface TestIssuer {
  readonly url: string;
  /** Returns the number of requests that the issuer has received. */
  readonly askedCount: () => number;
  /** Returns a token with these claims, signed by one of the issuer's keys. */
  readonly token: (claims: object, algorithm?: "RS256" | "ES256") => string;
  /** Overrides of the issuer's answers: the discovery document, and the status of all answers. */
  readonly answers: { discovery: string | null; status: number };
  readonly close: () => Promise<void>;
}

interface SigningKey {
  readonly id: string;
  readonly privateKey: KeyObject;
  readonly jwk: object;
}

const encoded = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");

/** Returns a token in JWS Compact Serialization (RFC 7515, section 3.1). */
export function signedToken(header: object, claims: object, signature: (input: Buffer) => Buffer): string {
  const input = `${encoded(header)}.${encoded(claims)}`;
  return `${input}.${signature(Buffer.from(input)).toString("base64url")}`;
}

export async function startIssuer(): Promise<TestIssuer> {
  let asked = 0;
  const signingKeys = newKeys();
  const answers: TestIssuer["answers"] = { discovery: null, status: 200 };
  const server = createServer((request, response) => {
    asked += 1;
    const documents: Readonly<Record<string, string>> = {
      "/.well-known/openid-configuration":
        answers.discovery ?? JSON.stringify({ issuer: url(), jwks_uri: `${url()}/keys` }),
      "/keys": JSON.stringify({ keys: Object.values(signingKeys).map(({ jwk }) => jwk) }),
    };
    const body = documents[request.url ?? ""];
    response.writeHead(body === undefined ? 404 : answers.status, { "content-type": "application/json" });
    response.end(body);
  });
  const url = (): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: url(),
    askedCount: () => asked,
    token: (claims, algorithm = "RS256") => {
      const { id, privateKey } = signingKeys[algorithm];
      return signedToken({ alg: algorithm, kid: id, typ: "JWT" }, claims, (input) =>
        sign("sha256", input, {
          key: privateKey,
          ...(algorithm === "ES256"
            ? { dsaEncoding: "ieee-p1363" as const }
            : { padding: constants.RSA_PKCS1_PADDING }),
        }),
      );
    },
    answers,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function newKeys(): { readonly RS256: SigningKey; readonly ES256: SigningKey } {
  const rsa = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const ec = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const keyOf = (alg: string, { publicKey, privateKey }: { publicKey: KeyObject; privateKey: KeyObject }) => {
    const jwk = { ...publicKey.export({ format: "jwk" }), kid: alg, alg, use: "sig" };
    return { id: alg, privateKey, jwk };
  };
  return { RS256: keyOf("RS256", rsa), ES256: keyOf("ES256", ec) };
}
