// `hone mcp`: serves Hone's tools to a program that speaks the Model Context Protocol, over standard input and output.
import type { Command } from "commander";
import { addConnectionFlags, connect, type ConnectionFlags } from "../connection.ts";

const about = `
Add it to Claude Code with: claude mcp add hone -- hone mcp --data /path/to/.hone
The program that starts the command may run it in any folder, so give the data folder as an absolute path, or set
HONE_BASE_URL and HONE_API_KEY in the program's settings for the server.`;

export function addMcpCommand(program: Command): void {
  addConnectionFlags(
    program
      .command("mcp")
      .description(
        "Serve tools over the Model Context Protocol (standard input and output): chat, feedback, annotation and training for Claude Code, Codex and other MCP clients.",
      ),
  )
    .option("--read-only", "offer only tools that change nothing")
    .addHelpText("after", about)
    .action(async ({ readOnly = false, ...flags }: ConnectionFlags & { readonly readOnly?: boolean }) => {
      const hone = connect(flags);
      const [{ serveMcp }, { packageVersion }] = await Promise.all([
        import("./serve-mcp.ts"),
        import("../../server/package.ts"),
      ]);
      serveMcp(hone, { version: packageVersion(), isReadOnly: readOnly });
      process.stderr.write(`hone mcp uses the server at ${hone.baseUrl}\n`);
    });
}
