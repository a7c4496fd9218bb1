"""What each conformance scenario needs of a server beyond the protocol.

The suite is written for a server made for it, with tools, prompts and resources of agreed names.
A scenario without a row here needs none of these and must pass, but for the single checks of
`CHECKS`.
"""

from __future__ import annotations

_TOOL = "its fixture tool `{}`"
_PROMPT = "its fixture prompt `{}`"
_RESOURCE = "its fixture resource `{}`"
_INPUT = "its fixture tool `test_input_required_result_{}`"

NEEDS: dict[str, str] = {
    "logging-set-level": "the logging capability, which is not offered",
    "completion-complete": _PROMPT.format("test_prompt_with_arguments") + " and completions",
    "tools-call-simple-text": _TOOL.format("test_simple_text"),
    "tools-call-image": _TOOL.format("test_image_content"),
    "tools-call-audio": _TOOL.format("test_audio_content"),
    "tools-call-embedded-resource": _TOOL.format("test_embedded_resource"),
    "tools-call-mixed-content": _TOOL.format("test_multiple_content_types"),
    "tools-call-with-logging": _TOOL.format("test_tool_with_logging"),
    "tools-call-error": _TOOL.format("test_error_handling"),
    "tools-call-with-progress": _TOOL.format("test_tool_with_progress"),
    "tools-call-sampling": _TOOL.format("test_sampling"),
    "tools-call-elicitation": _TOOL.format("test_elicitation"),
    "json-schema-2020-12": _TOOL.format("json_schema_2020_12_tool"),
    "elicitation-sep1034-defaults": _TOOL.format("test_elicitation_sep1034_defaults"),
    "elicitation-sep1330-enums": _TOOL.format("test_elicitation_sep1330_enums"),
    "server-sse-polling": _TOOL.format("test_reconnection"),
    "resources-list": "resources, which are not offered",
    "resources-read-text": _RESOURCE.format("test://static-text"),
    "resources-read-binary": _RESOURCE.format("test://static-binary"),
    "resources-templates-read": _RESOURCE.format("test://template/{id}/data"),
    "resources-subscribe": _RESOURCE.format("test://watched-resource"),
    "resources-unsubscribe": _RESOURCE.format("test://watched-resource"),
    "prompts-list": "prompts, which are not offered",
    "prompts-get-simple": _PROMPT.format("test_simple_prompt"),
    "prompts-get-with-args": _PROMPT.format("test_prompt_with_arguments"),
    "prompts-get-embedded-resource": _PROMPT.format("test_prompt_with_embedded_resource"),
    "prompts-get-with-image": _PROMPT.format("test_prompt_with_image"),
    "http-custom-header-server-validation": "a tool with `x-mcp-header` in its schema",
    "input-required-result-basic-elicitation": _INPUT.format("elicitation"),
    "input-required-result-basic-sampling": _INPUT.format("sampling"),
    "input-required-result-basic-list-roots": _INPUT.format("list_roots"),
    "input-required-result-request-state": _INPUT.format("request_state"),
    "input-required-result-multiple-input-requests": _INPUT.format("multiple_inputs"),
    "input-required-result-multi-round": _INPUT.format("multi_round"),
    "input-required-result-missing-input-response": _INPUT.format("elicitation"),
    "input-required-result-non-tool-request": (_PROMPT.format("test_input_required_result_prompt")),
    "input-required-result-result-type": _INPUT.format("elicitation"),
    "input-required-result-tampered-state": _INPUT.format("tampered_state"),
    "input-required-result-capability-check": _INPUT.format("capabilities"),
    "input-required-result-ignore-extra-params": _INPUT.format("elicitation"),
    "input-required-result-validate-input": _INPUT.format("elicitation"),
}

CHECKS: dict[str, str] = {
    # of server-stateless
    "sep-2575-server-rejects-undeclared-capability": _TOOL.format("test_missing_capability"),
    "sep-2575-missing-capability-http-400": _TOOL.format("test_missing_capability"),
    # of caching
    "sep-2549-prompts-list-caching-hints": "prompts, which are not offered",
    "sep-2549-resources-list-caching-hints": "resources, which are not offered",
    "sep-2549-resources-templates-list-caching-hints": "resources, which are not offered",
}
