// What every client does: connect, list the tools, make the calls, and print what came of it as one line of JSON.

/**
 * @param client      not yet connected
 * @param transports  of the client's own package: `Stdio` starts a server and speaks over its pipes, `Http` posts to one
 * @param calls       [tool, arguments] pairs
 * @param server      the command line of the server, or its address
 */
export async function talk(client, { Stdio, Http }, calls, server) {
  const [command, ...args] = server;
  const isHttp = command.startsWith("http://");
  await client.connect(isHttp ? new Http(new URL(command)) : new Stdio({ command, args, env: process.env }));
  const { tools } = await client.listTools(); // from here on the client checks answers against the output schemas
  const results = [];
  for (const [name, given] of calls) {
    results.push(await client.callTool({ name, arguments: given }).catch((error) => ({ threw: String(error) })));
  }
  const revision = client.getNegotiatedProtocolVersion?.() ?? null;
  const told = { server: client.getServerVersion(), instructions: client.getInstructions(), revision, tools, results };
  await client.close();
  process.stdout.write(JSON.stringify(told) + "\n");
}
