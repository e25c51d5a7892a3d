// Platforms for which ONNX Runtime has native code. On any other platform, startup fails with an error that names the
// supported ones. Without this check, the process would exit without an error message.
import { existsSync } from "node:fs";
import { ServiceError } from "../../base/domain/service-error.ts";

const served: Readonly<Record<string, readonly string[]>> = {
  linux: ["x64", "arm64"],
  darwin: ["arm64"],
  win32: ["x64"],
};

export interface Platform {
  /** Name of the operating system in Node, such as `linux`. */
  readonly system: string;
  readonly architecture: string;
  /** True if the C library is musl, as on Alpine. */
  readonly hasMusl: boolean;
}

export function thisPlatform(): Platform {
  const { platform: system, arch: architecture } = process;
  const loader = { x64: "x86_64", arm64: "aarch64" }[architecture as string];
  const hasMusl = system === "linux" && existsSync(`/lib/ld-musl-${loader}.so.1`) && !hasGlibc();
  return { system, architecture, hasMusl };
}

/**
 * True if Node uses glibc. A system may have both glibc and musl, and only Node's report says which one Node uses.
 * Creating the report takes some milliseconds.
 */
function hasGlibc(): boolean {
  // Node's report contains `glibcVersionRuntime`, but Node's type declarations lack it. It is absent if Node uses
  // another C library.
  const { header } = process.report.getReport() as {
    readonly header: { readonly glibcVersionRuntime?: string };
  };
  return header.glibcVersionRuntime !== undefined;
}

/**
 * Requires that this platform can compute models.
 *
 * @throws ServiceError `unsupported` on other platforms
 */
export function requireServed({ system, architecture, hasMusl }: Platform = thisPlatform()): void {
  if ((served[system] ?? []).includes(architecture) && !hasMusl) return;
  const place = `${system} on ${architecture}${hasMusl ? " with musl (Alpine)" : ""}`;
  throw new ServiceError({
    code: "unsupported",
    message: `ONNX Runtime has no build for ${place}, so no model can be served here. Use Linux with glibc, such as Debian (x64, arm64), macOS (arm64) or Windows (x64); commands with --url ask a server elsewhere.`,
  });
}
