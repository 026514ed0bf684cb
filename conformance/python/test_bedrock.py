"""Amazon's own Python client against toolpost sim, and toolpost's signatures against Amazon's library.

TOOLPOST_SIM is the address of a running `toolpost sim`, TOOLPOST the command itself.
"""
import http.server
import json
import os
import subprocess
import tempfile
import threading
import unittest

import boto3
import botocore.auth
import botocore.awsrequest
import botocore.credentials
import botocore.eventstream
import botocore.exceptions
from botocore.config import Config

SIM = os.environ["TOOLPOST_SIM"].rstrip("/")

HELLO = "Hello there"
ONE = "What is the weather in Rome?"
TWO = "What is the weather in Rome? What is the weather in Paris?"
SUNNY = "sunny, 25 degrees"
CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
WEATHER = {"toolSpec": {"name": "get_weather", "description": "Current weather in a city", "inputSchema": {"json": CITY}}}
CLOCK = {"toolSpec": {"name": "get_time", "description": "The time in a city", "inputSchema": {"json": CITY}}}
PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 16


def user(*content):
    return {"role": "user", "content": [{"text": c} if isinstance(c, str) else c for c in content]}


def joined(stream):
    """The message that the events of a stream make, why it ended, and the metadata."""
    blocks, stop, metadata = {}, None, None
    for event in stream:
        (kind, value), = event.items()
        index = value.get("contentBlockIndex")
        if kind == "contentBlockStart":
            blocks[index] = {"toolUse": {**value["start"]["toolUse"], "input": ""}}
        elif kind == "contentBlockDelta":
            (what, piece), = value["delta"].items()
            if what == "text":
                blocks.setdefault(index, {"text": ""})["text"] += piece
            elif what == "toolUse":
                blocks[index]["toolUse"]["input"] += piece["input"]
            elif what == "reasoningContent":
                text = blocks.setdefault(index, {"reasoningContent": {"reasoningText": {"text": ""}}})["reasoningContent"]["reasoningText"]
                for key, part in piece.items():
                    text[key] = text.get(key, "") + part
        elif kind == "messageStop":
            stop = value["stopReason"]
        elif kind == "metadata":
            metadata = value
    for block in blocks.values():
        if "toolUse" in block:
            block["toolUse"]["input"] = json.loads(block["toolUse"]["input"])
    return {"role": "assistant", "content": [blocks[i] for i in sorted(blocks)]}, stop, metadata


class Converse(unittest.TestCase):
    def setUp(self):
        self.client = boto3.client(
            "bedrock-runtime",
            region_name="us-east-1",
            endpoint_url=SIM,
            aws_access_key_id="AKIDEXAMPLE",
            aws_secret_access_key="any",
            config=Config(retries={"total_max_attempts": 1}),
        )
        self.tools = {"tools": [WEATHER]}

    def ask(self, *messages, model="sim/native", **more):
        return self.client.converse(modelId=model, messages=list(messages), **more)

    def stream(self, *messages, model="sim/native", **more):
        return joined(self.client.converse_stream(modelId=model, messages=list(messages), **more)["stream"])

    def cities(self, message):
        return [b["toolUse"]["input"]["city"] for b in message["content"] if "toolUse" in b]

    def test_text(self):
        answer = self.ask(user(HELLO), system=[{"text": "Be brief."}], inferenceConfig={"maxTokens": 100, "temperature": 0.5, "topP": 0.9, "stopSequences": ["END"]})
        self.assertIn("offline", answer["output"]["message"]["content"][0]["text"])
        self.assertEqual(answer["stopReason"], "end_turn")
        self.assertGreater(answer["usage"]["outputTokens"], 0)
        self.assertEqual(answer["usage"]["totalTokens"], answer["usage"]["inputTokens"] + answer["usage"]["outputTokens"])

    def test_stream(self):
        message, stop, metadata = self.stream(user(HELLO))
        self.assertEqual(message, self.ask(user(HELLO))["output"]["message"])
        self.assertEqual(stop, "end_turn")
        self.assertGreater(metadata["usage"]["outputTokens"], 0)
        self.assertIn("latencyMs", metadata["metrics"])

    def test_call(self):
        answer = self.ask(user(ONE), toolConfig=self.tools)
        self.assertEqual(self.cities(answer["output"]["message"]), ["Rome"])
        self.assertEqual(answer["stopReason"], "tool_use")

    def test_calls(self):
        answer = self.ask(user(TWO), toolConfig=self.tools)
        calls = [b["toolUse"] for b in answer["output"]["message"]["content"] if "toolUse" in b]
        self.assertEqual([c["input"] for c in calls], [{"city": "Rome"}, {"city": "Paris"}])
        self.assertEqual(len({c["toolUseId"] for c in calls}), 2)

    def test_streamed_calls(self):
        message, stop, _ = self.stream(user(TWO), toolConfig=self.tools)
        self.assertEqual(self.cities(message), ["Rome", "Paris"])
        self.assertEqual({b["toolUse"]["name"] for b in message["content"] if "toolUse" in b}, {"get_weather"})
        self.assertEqual(stop, "tool_use")

    def test_forced_calls(self):
        tools = {"tools": [WEATHER, CLOCK], "toolChoice": {"tool": {"name": "get_time"}}}
        for message in (self.ask(user(ONE), toolConfig=tools)["output"]["message"], self.stream(user(ONE), toolConfig=tools)[0]):
            self.assertEqual([b["toolUse"]["name"] for b in message["content"] if "toolUse" in b], ["get_time"])
        tools["toolChoice"] = {"any": {}}
        self.assertEqual(self.ask(user(HELLO), toolConfig=tools)["stopReason"], "tool_use")

    def results(self, ask):
        call = ask(user(TWO))
        uses = [b["toolUse"] for b in call["content"] if "toolUse" in b]
        content = [
            {"toolResult": {"toolUseId": uses[0]["toolUseId"], "content": [{"text": SUNNY}], "status": "success"}},
            {"toolResult": {"toolUseId": uses[1]["toolUseId"], "content": [{"json": {"sky": "grey"}}, {"image": {"format": "png", "source": {"bytes": PNG}}}]}},
        ]
        return ask(user(TWO), call, user(*content))["content"][0]["text"]

    def test_results(self):
        text = self.results(lambda *m: self.ask(*m, toolConfig=self.tools)["output"]["message"])
        self.assertIn(SUNNY, text)
        self.assertIn("grey", text)

    def test_streamed_results(self):
        self.assertIn(SUNNY, self.results(lambda *m: self.stream(*m, toolConfig=self.tools)[0]))

    def test_failed_result(self):
        call = self.ask(user(ONE), toolConfig=self.tools)["output"]["message"]
        result = {"toolResult": {"toolUseId": call["content"][0]["toolUse"]["toolUseId"], "content": [{"text": "no such city"}], "status": "error"}}
        self.assertIn("no such city", self.ask(user(ONE), call, user(result), toolConfig=self.tools)["output"]["message"]["content"][0]["text"])

    def thinking(self, ask):
        call = ask(user(ONE))
        text = call["content"][0]["reasoningContent"]["reasoningText"]
        self.assertTrue(text["text"] and text["signature"])
        result = {"toolResult": {"toolUseId": call["content"][-1]["toolUse"]["toolUseId"], "content": [{"text": SUNNY}]}}
        self.assertIn(SUNNY, ask(user(ONE), call, user(result))["content"][-1]["text"])
        text["text"] += " Changed."
        with self.assertRaises(self.client.exceptions.ValidationException):
            ask(user(ONE), call, user(result))

    def test_thinking(self):
        self.thinking(lambda *m: self.ask(*m, model="sim/native+think", toolConfig=self.tools)["output"]["message"])

    def test_streamed_thinking(self):
        self.thinking(lambda *m: self.stream(*m, model="sim/native+think", toolConfig=self.tools)[0])

    def test_media(self):
        answer = self.ask(
            user(
                HELLO,
                {"image": {"format": "png", "source": {"bytes": PNG}}},
                {"image": {"format": "jpeg", "source": {"s3Location": {"uri": "s3://bucket/a.jpg", "bucketOwner": "123456789012"}}}},
                {"document": {"format": "pdf", "name": "Report 1", "source": {"bytes": b"%PDF"}}},
                {"video": {"format": "mp4", "source": {"bytes": b"mp4"}}},
            )
        )
        self.assertIn("offline", answer["output"]["message"]["content"][0]["text"])

    def test_cache_points(self):
        point = {"cachePoint": {"type": "default"}}
        more = {"system": [{"text": "Be brief."}, point], "toolConfig": {"tools": [WEATHER, point]}}
        for message in (self.ask(user(ONE, point), **more)["output"]["message"], self.stream(user(ONE, point), **more)[0]):
            self.assertEqual(self.cities(message), ["Rome"])

    def test_other_fields(self):
        answer = self.ask(
            user(HELLO),
            additionalModelRequestFields={"thinking": {"type": "enabled", "budget_tokens": 2000}, "top_k": 5},
            additionalModelResponseFieldPaths=["/stop_sequence"],
            guardrailConfig={"guardrailIdentifier": "abc", "guardrailVersion": "1"},
            performanceConfig={"latency": "optimized"},
            requestMetadata={"team": "a"},
        )
        self.assertEqual(answer["stopReason"], "end_turn")

    def test_model_ids(self):
        with self.assertRaises(self.client.exceptions.ResourceNotFoundException):
            self.ask(user(HELLO), model="us.anthropic.claude-x-v1:0")

    def test_errors(self):
        for stream in (False, True):
            ask = self.stream if stream else self.ask
            with self.assertRaises(self.client.exceptions.ThrottlingException) as caught:
                ask(user(HELLO), model="sim/native+429=2s")
            self.assertEqual(caught.exception.response["ResponseMetadata"]["HTTPHeaders"]["retry-after"], "2")
            with self.assertRaises(self.client.exceptions.ServiceUnavailableException):
                ask(user(HELLO), model="sim/native+503")
            with self.assertRaises(self.client.exceptions.InternalServerException):
                ask(user(HELLO), model="sim/native+500")
            with self.assertRaises(self.client.exceptions.AccessDeniedException):
                ask(user(HELLO), model="sim/native+401")
            with self.assertRaises(self.client.exceptions.ValidationException):
                ask(user(ONE), model="sim/native+no-tools", toolConfig=self.tools)

    def test_damage(self):
        with self.assertRaises((botocore.eventstream.ParserError, botocore.exceptions.BotoCoreError)):
            self.stream(user(HELLO), model="sim/native+garbage")
        self.assertEqual(self.stream(user(HELLO), model="sim/native+length")[1], "max_tokens")


class Verifier(http.server.BaseHTTPRequestHandler):
    """A Converse endpoint that computes the signature of each request again, with Amazon's library."""

    seen = []

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        claimed = self.headers["Authorization"]
        signed = claimed.split("SignedHeaders=")[1].split(",")[0].split(";")
        headers = {name: self.headers[name] for name in signed if name not in ("host", "x-amz-date", "x-amz-security-token")}
        request = botocore.awsrequest.AWSRequest("POST", "http://" + self.headers["Host"] + self.path, data=body, headers=headers)
        request.context["timestamp"] = self.headers["X-Amz-Date"]
        signer = botocore.auth.SigV4Auth(botocore.credentials.Credentials("AKIDEXAMPLE", "se/cr+et", "to+ken/="), "bedrock", "eu-west-1")
        request.headers["X-Amz-Date"] = self.headers["X-Amz-Date"]
        request.headers["X-Amz-Security-Token"] = self.headers["X-Amz-Security-Token"]
        canonical = signer.canonical_request(request)
        signature = signer.signature(signer.string_to_sign(request, canonical), request)
        self.seen.append((self.path, claimed, signature))
        content = json.dumps({"message": "seen"}).encode()
        self.send_response(400)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        pass


class Signature(unittest.TestCase):
    def test_signature(self):
        server = http.server.HTTPServer(("127.0.0.1", 0), Verifier)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            with tempfile.TemporaryDirectory() as home:
                config = os.path.join(home, "config.yaml")
                with open(config, "w") as f:
                    f.write("providers:\n  bedrock:\n    base_url: http://127.0.0.1:%d\n    key_env: LAB_KEY\n" % server.server_port)
                env = {"PATH": os.environ["PATH"], "HOME": home, "LAB_KEY": "AKIDEXAMPLE:se/cr+et:to+ken/=", "AWS_REGION": "eu-west-1"}
                model = "bedrock/arn:aws:bedrock:eu-west-1:123456789012:inference-profile/eu.amazon.nova-pro-v1:0"
                command = [os.environ["TOOLPOST"], "run", "--config", config, "-m", model, "Grüße, how are you?"]
                said = subprocess.run(command, env=env, cwd=home, capture_output=True, text=True, timeout=600)
        finally:
            server.shutdown()
            server.server_close()
        self.assertTrue(Verifier.seen, said)
        for path, claimed, signature in Verifier.seen:
            self.assertIn("Signature=" + signature, claimed)
            self.assertIn("%3A", path)
        for secret in ("se/cr+et", "to+ken/=", "AKIDEXAMPLE"):
            self.assertNotIn(secret, said.stdout + said.stderr)


if __name__ == "__main__":
    unittest.main()
