#!/usr/bin/env python3
"""Writes the mutating operations of AWS's REST APIs that the likeness records, with their
methods and paths, as botocore's models have them: scripts/restcalls.py >internal/test/likeness/restcalls.txt"""

import botocore.session

SERVICES = ["apigatewayv2", "appsync", "cloudfront", "efs", "eks", "lambda", "opensearch", "resource-groups", "route53", "s3"]
READS = ("Get", "List", "Describe", "Head", "BatchGet", "Lookup", "Search", "Select", "Test")

loader = botocore.session.get_session().get_component("data_loader")
for service in SERVICES:
    model = loader.load_service_model(service, "service-2")
    metadata = model["metadata"]
    signs = metadata.get("signingName", metadata["endpointPrefix"])
    for name, operation in sorted(model["operations"].items()):
        if name.startswith(READS) or operation.get("endpoint", {}).get("hostPrefix"):
            continue
        name = name.removesuffix(metadata["apiVersion"].replace("-", "_"))
        uri, queries = operation["http"]["requestUri"], []
        for member, shape in model["shapes"][operation["input"]["shape"]]["members"].items() if "input" in operation else ():
            label = shape.get("locationName", member)
            if shape.get("location") == "uri":
                uri = uri.replace("{" + label, "{" + member)
            elif shape.get("location") == "querystring":
                queries.append(label + "=" + member)
        print(signs, operation["http"]["method"], uri, name, *queries)
