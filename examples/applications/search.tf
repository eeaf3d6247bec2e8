# search.sql in Terraform's language.
resource "aws_vpc" "search" {
  cidr_block           = "10.62.0.0/16"
  enable_dns_hostnames = true
  tags                 = { Name = "search" }
}

resource "aws_subnet" "search" {
  for_each = {
    a = "10.62.0.0/24"
    b = "10.62.1.0/24"
  }
  vpc_id            = aws_vpc.search.id
  cidr_block        = each.value
  availability_zone = "us-east-1${each.key}"
  tags              = { Name = "search" }
}

resource "aws_security_group" "search" {
  name        = "search"
  description = "HTTPS from the VPC"
  vpc_id      = aws_vpc.search.id
}

resource "aws_vpc_security_group_ingress_rule" "search" {
  security_group_id = aws_security_group.search.id
  ip_protocol       = "tcp"
  from_port         = 443
  to_port           = 443
  cidr_ipv4         = aws_vpc.search.cidr_block
}

resource "aws_opensearch_domain" "search" {
  domain_name    = "search"
  engine_version = "OpenSearch_2.11"
  cluster_config {
    instance_type          = "m6g.large.search"
    instance_count         = 2
    zone_awareness_enabled = true
    zone_awareness_config {
      availability_zone_count = 2
    }
  }
  ebs_options {
    ebs_enabled = true
    volume_type = "gp3"
    volume_size = 20
  }
  vpc_options {
    subnet_ids         = [for s in aws_subnet.search : s.id]
    security_group_ids = [aws_security_group.search.id]
  }
  domain_endpoint_options {
    enforce_https = true
  }
  encrypt_at_rest {
    enabled = true
  }
  node_to_node_encryption {
    enabled = true
  }
}
